"""Factors of products are rounded to TF32, however a product is written, and nothing else is."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402, N812

from kernelwright.evaluate.entrypoints.reference import rounding as module  # noqa: E402
from kernelwright.evaluate.entrypoints.reference.rounding import Products, Rounded, rounded  # noqa: E402

ALL, NONE = Products(convolutions=True, matrices=True), Products(convolutions=False, matrices=False)
STEP = 2.0**-10


def _tf32(value, chance):
    return Rounded(ALL, cut=not chance)._tf32(value)


@pytest.fixture(autouse=True)
def chance():
    torch.manual_seed(0)


def doubles(*shape):
    return torch.randn(shape, dtype=torch.float64)


def test_a_double_becomes_one_of_its_two_neighbours_the_nearer_one_the_likelier():
    value = torch.full((10000,), 1 + 0.25 * STEP, dtype=torch.float64)
    found = _tf32(value, chance=True)
    assert set(found.tolist()) == {1.0, 1 + STEP}
    assert (found == 1).double().mean() == pytest.approx(0.75, abs=0.02)
    assert set(_tf32(-value, chance=False).tolist()) == {-1.0}


@pytest.mark.parametrize("chance", [True, False])
def test_what_is_a_number_of_tf32_stays_itself(chance):
    values = torch.tensor([0.0, -0.0, 1.0, -1 - STEP, 2.0**-100, 3e30, float("inf")], dtype=torch.float64)
    exact = _tf32(values, chance=False)
    assert torch.equal(_tf32(exact, chance).view(torch.int64), exact.view(torch.int64))


def test_what_is_no_double_stays_and_so_does_what_was_handed_in():
    single, whole = torch.rand(9), torch.arange(4)
    assert _tf32(single, True) is single
    assert _tf32(whole, True) is whole
    assert _tf32(None, True) is None
    value = doubles(3, 4)
    before = value.clone()
    assert not torch.equal(_tf32(value.T, False), value.T)
    assert torch.equal(value, before)


@pytest.mark.parametrize("piece", [1, 7, 1 << 22])
def test_a_large_factor_is_rounded_piece_by_piece(monkeypatch, piece):
    monkeypatch.setattr(module, "PIECE", piece)
    value = doubles(5, 6)
    found = _tf32(value, chance=False)
    assert ((value - found) / value >= 0).all()
    assert ((value - found) / value < STEP).all()
    assert torch.equal(_tf32(found, chance=True), found)


X, W, B = doubles(2, 3, 8, 8), doubles(4, 3, 3, 3), doubles(4)
ROWS, TURNED = doubles(6, 5), doubles(5, 6)
CONVOLUTIONS = {
    "convolution": lambda: F.conv2d(X, W, B),
    "transposed": lambda: F.conv_transpose2d(X, W.transpose(0, 1)),
    "channels last": lambda: F.conv2d(X.to(memory_format=torch.channels_last), W),
}
MATRICES = {
    "matmul": lambda: ROWS @ TURNED,
    "linear": lambda: F.linear(ROWS, TURNED.T, doubles(6) * 0),
    "batched": lambda: ROWS.expand(3, 6, 5) @ TURNED,
    "einsum": lambda: torch.einsum("ij,jk->ik", ROWS, TURNED),
}


@pytest.mark.parametrize("product", [*CONVOLUTIONS.values(), *MATRICES.values()], ids=[*CONVOLUTIONS, *MATRICES])
def test_a_product_moves_by_what_its_factors_are_rounded_each_time_otherwise(product):
    exact, found = product(), []
    for _ in range(20):
        with Rounded(ALL):
            found.append(product())
        assert 0 < (found[-1] - exact).abs().max() < 20 * STEP * exact.abs().max()
    assert len({tuple(f.flatten().tolist()) for f in found}) > 1
    with Rounded(NONE):
        assert torch.equal(product(), exact)


def test_the_flag_of_convolutions_is_not_that_of_matrix_products():
    with Rounded(Products(convolutions=True, matrices=False)):
        assert torch.equal(ROWS @ TURNED, ROWS @ TURNED)
        moved = F.conv2d(X, W)
    assert not torch.equal(moved, F.conv2d(X, W))
    with Rounded(Products(convolutions=False, matrices=True)):
        assert torch.equal(F.conv2d(X, W), F.conv2d(X, W))


def test_a_result_that_is_a_factor_is_rounded_and_a_bias_is_not():
    exact = torch.tensor([[1.0]], dtype=torch.float64)
    fine = 1 + STEP / 3
    with Rounded(ALL):
        assert (exact @ exact * fine @ exact).item() in (1.0, 1 + STEP)
        assert F.linear(exact, exact, exact[0] * fine).item() == 1 + fine


def test_what_is_cut_off_is_the_same_each_time_and_no_larger():
    positive = ROWS.abs()
    found = []
    for _ in range(2):
        with Rounded(ALL, cut=True):
            found.append(positive @ positive.T)
    assert torch.equal(*found)
    assert (found[0] < positive @ positive.T).all()


def test_what_the_reference_draws_itself_stays():
    def forward(x):
        torch.manual_seed(7)
        return (x @ x.T) * torch.rand(len(x), dtype=x.dtype)

    ones = torch.ones(6, 5, dtype=torch.float64)
    assert torch.equal(rounded(forward, torch.nn.Module(), ALL)(ones), forward(ones))


def test_weights_in_one_piece_are_made_of_the_rounded_ones(monkeypatch):
    """As cuDNN's recurrent layers have them, which a CPU lacks."""
    given = []

    def layer(*args):
        given.extend(args)

    layer.__name__ = "_cudnn_rnn.default"
    fine = torch.full((2,), 1 + STEP / 3, dtype=torch.float64)
    Rounded(ALL).__torch_dispatch__(layer, (), (fine, [fine, fine], 4, fine, fine, None, 2))
    x, weights, count, packed, state, cell, mode = given
    assert (count, packed, cell, mode) == (4, None, None, 2)
    for factor in (x, *weights, state):
        assert set(factor.tolist()) <= {1.0, 1 + STEP}


def test_what_fails_when_it_is_rounded_is_computed_as_it_is():
    def forward(x):
        found = x @ x.T
        if not torch.equal(found, (x[:, None] * x).sum(-1)):
            raise RuntimeError("not what it was")
        return found

    whole = torch.full((2, 2), 1 + STEP / 3, dtype=torch.float64)
    assert torch.equal(rounded(forward, torch.nn.Module(), ALL)(whole), forward(whole))
    assert not torch.equal(rounded(lambda x: x @ x.T, torch.nn.Module(), ALL)(whole), forward(whole))
