"""The reference in double precision is not rounded by the task's own casts to narrower floats, and by no others' absence."""

import pytest

torch = pytest.importorskip("torch")

from kernelwright.evaluate.entrypoints.reference.rounding import Unrounded, in_double, unrounded  # noqa: E402

X = torch.linspace(0.0, 3.0, 12, dtype=torch.float64).reshape(3, 4)
PLAIN = torch.nn.Module()


@pytest.mark.parametrize(
    "cast",
    [
        lambda x: x.half(),
        lambda x: x.float(),
        lambda x: x.to(torch.bfloat16),
        lambda x: x.type(torch.float16),
        lambda x: x.type_as(torch.zeros(1)),
        lambda x: (x[None] * 2).sum(0, dtype=torch.float32) / 2,
    ],
)
def test_casts_of_doubles_to_narrower_floats_are_left_out(cast):
    with Unrounded():
        found = cast(X)
    assert found.dtype == torch.float64
    assert torch.equal(found, X)
    assert cast(X).dtype != torch.float64


def test_casts_to_integers_and_eight_bits_and_of_narrower_floats_stay():
    with Unrounded():
        assert (X * 0.9).long().dtype == torch.int64
        assert X.to(torch.float8_e4m3fn).dtype == torch.float8_e4m3fn
        assert torch.ones(3).half().dtype == torch.float16
        assert torch.zeros(3, dtype=torch.float8_e5m2).dtype == torch.float8_e5m2


def test_where_a_task_cannot_do_without_its_roundings_it_has_them():
    calls = []

    def bits(x):
        calls.append(1)
        return x.float().view(torch.int32).float()

    found = unrounded(bits, PLAIN)
    for _ in range(2):
        assert torch.equal(found(X), X.float().view(torch.int32).float())
    assert len(calls) == 3  # the first time twice

    held = torch.ones(4, 2, dtype=torch.float16)

    def products(x):
        return x.half() @ held

    mixed = unrounded(products, PLAIN)
    for _ in range(2):
        assert torch.equal(mixed(X), X.half() @ torch.ones(4, 2, dtype=torch.float16))


def test_a_second_try_counts_once():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x):
            self.calls += 1
            return x.float().view(torch.int32)

    model = Counts()
    unrounded(model.forward, model)(X)
    assert model.calls == 1


def test_a_device_without_room_is_told():
    def full(x):
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        unrounded(full, PLAIN)(X)


@pytest.mark.parametrize("words", ["CUBLAS_STATUS_ALLOC_FAILED when calling", "CUDA error: out of memory"])
def test_a_library_that_found_no_room_is_told_and_changes_no_later_answer(words):
    room = []

    def product(x):
        if not room:
            raise RuntimeError(words)
        return x.half()

    asked = unrounded(product, PLAIN)
    with pytest.raises(RuntimeError, match=words):
        asked(X)
    room.append(1)
    assert asked(X).dtype == torch.float64


def test_what_fails_with_its_roundings_too_says_nothing_about_them():
    broken = [1]

    def sometimes(x):
        if broken:
            raise ValueError("no luck")
        return x.half()

    asked = unrounded(sometimes, PLAIN)
    with pytest.raises(ValueError, match="no luck"):
        asked(X)
    broken.clear()
    assert asked(X).dtype == torch.float64


@pytest.mark.parametrize("dtype", [None, torch.float32, torch.bfloat16])
def test_what_is_made_of_no_tensor_is_made_double(dtype):
    def summed(x):
        return torch.zeros(2, 4, dtype=dtype).index_add(
            0, torch.tensor([0, 1, 1]), x.to(dtype or x.dtype)
        ) + torch.tensor(0.1)

    found = in_double(unrounded(summed, PLAIN))(X)
    assert found.dtype == torch.float64
    assert torch.equal(found, torch.stack([X[0], X[1] + X[2]]) + 0.1)
    assert torch.get_default_dtype() == torch.float32
    with pytest.raises(ZeroDivisionError):
        in_double(lambda: 1 / 0)()
    assert torch.get_default_dtype() == torch.float32
