"""Live modules as tasks: what is written down computes the same, for the referee and for whoever loads the weights."""

import copy
import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright import calltree
from kernelwright.errors import TaskError
from kernelwright.interfaces.python import live
from kernelwright.interfaces.python.called import Adapted
from kernelwright.interfaces.python.drawn import drawn
from kernelwright.tasks.kernelbench import parse_kernelbench


def loaded(captured):
    """The text as the referee runs it, with the weights of the live module."""
    space = {}
    exec(compile(captured.source.source, "<task>", "exec"), space)
    model = space["Model"]()
    model.load_state_dict(captured.tensors, strict=True)
    return model, space["get_inputs"]()


class Block(nn.Module):
    """Everything a module may hold: layers, masks, tables, constants, a closure, and arguments of its constructor."""

    def __init__(self, width, activation):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 2 * width), nn.LayerNorm(2 * width), nn.Dropout(0.5))
        self.norm = nn.BatchNorm1d(2 * width)
        self.activation = activation
        self.register_buffer("mask", torch.tril(torch.ones(2 * width, 2 * width, dtype=torch.bool)))
        self.register_buffer("positions", torch.arange(2 * width).float(), persistent=False)

    def forward(self, x, power):
        with torch.no_grad():
            hidden = self.activation(self.norm(self.layers(x)))
        hidden = hidden**power + torch.arange(hidden.shape[-1], device=x.device) + torch.tensor([0.5])
        scores = (hidden @ hidden.T).new_zeros(self.mask.shape).masked_fill(~self.mask, float("-inf"))
        first, second = hidden.chunk(2, dim=-1)
        return scores.softmax(-1).sum(0) + self.positions, (first * second).to(torch.float32)


def test_what_is_written_down_computes_the_same():
    module, inputs = Block(8, lambda x: x.sigmoid() * 2), (torch.randn(6, 8), 3)
    captured = live.capture(module, inputs)
    model, drawn_inputs = loaded(captured)
    expected = module.eval()(*inputs)
    torch.testing.assert_close(model(*inputs), expected)
    assert isinstance(model(*inputs), tuple)
    assert drawn_inputs[1] == 3
    assert drawn_inputs[0].shape == (6, 8)
    assert "class Block" in captured.source.description
    assert (captured.source.name, captured.device) == ("Block", "cpu")
    assert parse_kernelbench(captured.source.source, "x", "x").format == "kernelbench"
    assert set(module.state_dict()) <= set(captured.tensors)


def test_the_weights_stay_at_home():
    module = nn.Linear(64, 64)
    text = kw.capture(module, (torch.randn(2, 64),)).source
    assert len(text) < 2000
    assert f"{module.weight[0, 0].item():.6g}" not in text


def test_the_module_is_left_as_it_was():
    module = Block(4, torch.relu)
    module.norm.eval()
    before = {name: (one.training, id(one)) for name, one in module.named_modules()}
    kw.capture(module, (torch.randn(2, 4), 2))
    assert {name: (one.training, id(one)) for name, one in module.named_modules()} == before


@pytest.mark.parametrize(
    "function", [lambda x, y: x @ y, lambda x, y: [x + y, x.sum()], lambda x, y: (torch.where(x > 0, x, y),)]
)
def test_a_function_is_a_task_too(function):
    inputs = (torch.randn(4, 4), torch.rand(4, 4))
    captured = live.capture(function, inputs)
    model, _ = loaded(captured)
    torch.testing.assert_close(model(*inputs), function(*inputs))
    assert type(model(*inputs)) is type(function(*inputs))
    assert "def forward(self, x, y):" in captured.source.source


def test_a_function_of_pytorch_is_a_task():
    captured = live.capture(torch.relu, (torch.randn(9),))
    torch.testing.assert_close(loaded(captured)[0](torch.arange(-4.0, 5)), torch.arange(-4.0, 5).relu())


def test_one_tensor_may_stand_for_the_inputs():
    x = torch.randn(4, 8)
    assert kw.capture(nn.Softmax(dim=-1), x) == kw.capture(nn.Softmax(dim=-1), (x,))


def test_a_class_without_source_is_captured_all_the_same():
    space = {}
    exec("import torch\nclass Odd(torch.nn.Module):\n    def forward(self, x):\n        return x.exp() - 1\n", space)
    captured = live.capture(space["Odd"](), (torch.randn(3),))
    torch.testing.assert_close(loaded(captured)[0](torch.ones(3)), torch.ones(3).exp() - 1)
    assert captured.source.description == ""


def test_a_conversion_that_changes_nothing_is_not_written_down():
    text = live.capture(lambda x: x.float() * 2, (torch.randn(3),)).source.source
    assert "float32" not in text


def test_the_working_dtype_is_that_of_the_inputs():
    captured = live.capture(lambda x: x + torch.arange(x.shape[-1], dtype=x.dtype).sqrt(), (torch.randn(2, 9),))
    model, _ = loaded(captured)
    exact = model.double()(torch.zeros(2, 9, dtype=torch.float64))
    assert torch.equal(exact[0], torch.arange(9, dtype=torch.float64).sqrt())


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.cell = nn.Embedding(10, 4), nn.GRU(4, 4, batch_first=True)

    def forward(self, at):
        return self.cell(self.table(at))[0]


def test_where_no_input_is_floating_the_weights_say_the_dtype():
    module, at = Embedded(), torch.randint(0, 10, (2, 3))
    model, _ = loaded(live.capture(module, (at,)))
    torch.testing.assert_close(model(at), module(at).detach())
    torch.testing.assert_close(model.double()(at), module.double()(at).detach())


def test_a_region_of_another_precision_is_written_down_as_its_casts():
    model, (x,) = loaded(live.capture(Autocast(), (torch.randn(3, 3),)))
    assert torch.equal(model(x), Autocast()(x))
    assert model(x).dtype == torch.bfloat16


def test_what_torch_compile_wraps_is_captured_itself():
    captured = live.capture(torch.compile(nn.Linear(3, 3), backend="eager"), (torch.randn(2, 3),))
    assert (captured.source.name, list(captured.tensors)) == ("Linear", ["weight", "bias"])


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor | None


@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    mask: torch.Tensor | None = None
    mode: str = "mean"


class Pooled(nn.Module):
    """Takes what the field's modules take: a dataclass, keywords, None, words, arrays; and gives a nested result."""

    def forward(self, batch, *, weights=None, scale=1.0, extra=()):
        hidden = batch.tokens * scale
        if batch.mask is not None:
            hidden = hidden * batch.mask
        if weights is not None:
            hidden = hidden * torch.as_tensor(weights["w"])
        pooled = hidden.mean(-1) if batch.mode == "mean" else hidden.amax(-1)
        return {"pair": Pair(pooled, None), "batch": Batch(hidden), "all": [hidden.exp(), (pooled, *extra)], "n": 3}


class Remembering(nn.Module):
    """A step of decoding with a cache of its own kind, which grows."""

    def forward(self, x, past):
        return {"y": past.update(x).sum(-1), "past": past}


class Memory:
    def __init__(self):
        self.steps, self.seen = [], 0

    def update(self, x):
        self.steps.append(x)
        self.seen += 1
        return torch.cat(self.steps, dim=-1)


def remembering():
    past = Memory()
    past.update(torch.randn(2, 3))
    return past


CALLS = {
    "nested results of an LSTM": (nn.LSTM(4, 3), (torch.randn(5, 2, 4),), {}),
    "an LSTM with its state": (nn.LSTM(4, 3), (torch.randn(5, 2, 4), (torch.randn(1, 2, 3), torch.randn(1, 2, 3))), {}),
    "a dataclass": (Pooled(), (Batch(torch.randn(3, 4), torch.rand(3, 4)),), {}),
    "by name, with arrays": (
        Pooled(), (), {"batch": Batch(torch.randn(3, 4), mode="max"), "weights": {"w": np.ones(4, np.float32)}, "scale": 2.0},
    ),
    "a cache": (Remembering(), (torch.randn(2, 3), remembering()), {}),
    "one in a tuple": (lambda x: (x + 1,), (torch.randn(3),), {}),
    "a number beside": (lambda x, n, y=None: x * n, (torch.randn(3), 2), {"y": None}),
}  # fmt: skip


@pytest.mark.parametrize(("what", "args", "kwargs"), CALLS.values(), ids=CALLS)
def test_any_call_is_a_task_and_a_drop_in_is_called_alike(what, args, kwargs, capfd):
    expected = what(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    captured = live.capture(what, args, kwargs)
    model, drawn_inputs = loaded(captured)
    assert all(isinstance(value, torch.Tensor | bool | int | float) for value in drawn_inputs)
    found = captured.call.around(model)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    assert calltree.parts(found)[1] == calltree.parts(expected)[1]
    torch.testing.assert_close(calltree.tensors(found), calltree.tensors(expected))
    assert capfd.readouterr() == ("", "")


def test_a_call_that_is_put_together_otherwise_is_the_modules_own():
    module = Pooled()
    batch = Batch(torch.randn(3, 4), torch.rand(3, 4))
    captured = live.capture(module, {"batch": batch})
    other = captured.call.around(nn.Identity())(batch=Batch(batch.tokens, mode="max"), scale=3.0)
    torch.testing.assert_close(calltree.tensors(other), calltree.tensors(module(Batch(batch.tokens * 3, mode="max"))))
    number = live.capture(lambda x, n: x * n, (torch.randn(3), 2)).call.around(nn.Identity())
    assert torch.equal(number(torch.ones(3), 5), torch.full((3,), 5.0))


def test_what_cannot_be_traced_prints_nothing(capfd):
    with pytest.raises(TaskError):
        live.capture(Branches(), (torch.randn(3),))
    with pytest.raises(TaskError):
        live.capture(nn.Linear(3, 3), (torch.randn(2, 4),))
    assert capfd.readouterr() == ("", "")


SAME = torch.randn(3)


class Branches(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Autocast(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x


@pytest.mark.parametrize(
    ("what", "inputs", "said"),
    [
        (
            Branches(),
            (torch.randn(3),),
            "cannot trace Branches: its control flow or a number in Python depends on values",
        ),
        (lambda x: x[x > 0] * 2, (torch.randn(9),), "cannot trace lambda: the shape of a tensor depends on values"),
        (lambda x: x[x > 0].sum(), (torch.randn(9),), "cannot trace lambda: the shape of a tensor depends on values"),
        (lambda x: x if torch.equal(x, x) else -x, (torch.randn(9),), "a number in Python depends on values"),
        (
            lambda x, n: nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x, n))[0],
            (torch.randn(4, 2, 3), torch.tensor([4, 2])),
            "cannot trace lambda: its control flow or a number in Python depends on values",
        ),
        (lambda x: x, (torch.randn(3), torch.randn(3)), "lambda cannot be called so: too many positional"),
        (torch.nn.Linear(4, 4), (), "Linear needs example inputs .missing a required argument"),
        (torch.nn.Linear(4, 4), (torch.randn(3, 5),), "Linear itself raises on these inputs: RuntimeError"),
        (lambda x: {"y": "none"}, (torch.randn(3),), "returns no tensor"),
        (torch.relu, (), "needs example inputs, at least one tensor"),
        (lambda x, y: x + y, (SAME, SAME), "is given one tensor twice"),
        (lambda x, y: x, (torch.randn(3), iter(())), "y is or holds a tuple_iterator"),
    ],
)
def test_what_cannot_be_a_task_is_refused_with_the_cure(what, inputs, said):
    with pytest.raises(TaskError, match=said) as caught:
        live.capture(what, inputs)
    assert any(fix in str(caught.value) for fix in ("Write a task file", "inputs=(", "rap the module", live.INSTEAD))


def labels(classes, ignored, count=1000):
    """Labels, a tenth of them ignored, as F.cross_entropy does with ignore_index."""
    found = torch.arange(count) * classes // count if classes > count else torch.arange(count) % min(classes, 10)
    return found.masked_fill(torch.arange(count) % 10 == 3, ignored)


@pytest.mark.parametrize(
    ("tensor", "like"),
    [
        (torch.zeros(3, 2), lambda t: (t == 0).all()),
        (torch.arange(6).reshape(2, 3), lambda t: torch.equal(t, torch.arange(6).reshape(2, 3))),
        (torch.ones(5, 5).triu(1), lambda t: torch.equal(t, torch.ones(5, 5).triu(1))),
        (
            torch.full((4, 4), float("-inf")).triu(1),
            lambda t: torch.equal(t, torch.full((4, 4), float("-inf")).triu(1)),
        ),
        (torch.rand(64, 64) < 0.2, lambda t: 0.1 < t.float().mean() < 0.3),
        (torch.randint(3, 9, (100,)), lambda t: t.min() >= 3 and t.max() <= 8),
        (labels(1000, -100), lambda t: {-100, *range(10)} == set(t.unique().tolist()) and 50 < (t < 0).sum() < 150),
        (labels(30_000, -1, 100), lambda t: ((t == -1) | (t >= 0)).all() and (t == -1).sum() == (t < 0).sum() > 0),
        (labels(19, 255), lambda t: (t == 255).any() and ((t == 255) | (t < 19)).all()),
        (torch.randn(40, 50).softmax(-1), lambda t: torch.allclose(t.sum(-1), torch.ones(40))),
        (torch.rand(1000) * 7, lambda t: t.min() >= 0 and 6 < t.max() < 7),
        (torch.randn(1000) * 3 - 20, lambda t: -21 < t.mean() < -19 and 2 < t.std() < 4),
        (torch.randint(0, 2, (100,)).float() * 2 - 1, lambda t: set(t.unique().tolist()) == {-1.0, 1.0}),
        (torch.randn(8, dtype=torch.float16), lambda t: t.dtype == torch.float16),
        (torch.empty(0, 3), lambda t: t.numel() == 0),
        (torch.arange(0, 40, 5), lambda t: torch.equal(t, torch.arange(0, 40, 5))),
        (torch.randint(0, 99, (1000,)).sort().values, lambda t: (t.diff() >= 0).all() and t.max() <= 98),
        (torch.randn(50, 2, dtype=torch.complex64) * 3, lambda t: 2 < t.abs().mean() < 6 and t.imag.std() > 1),
        (torch.zeros(3, dtype=torch.complex128), lambda t: (t == 0).all()),
        (torch.tensor(2.5), lambda t: t == 2.5),
    ],
)
def test_a_tensor_is_drawn_as_another_one_like_it(tensor, like):
    made = eval(drawn(tensor), {"torch": torch})
    assert (made.shape, made.dtype) == (tensor.shape, tensor.dtype)
    assert like(made)


def test_a_kernels_file_becomes_a_module_with_the_weights(tmp_path):
    module = nn.Linear(4, 4)
    captured = live.capture(module, (torch.randn(2, 4),))
    file = tmp_path / "model_new.py"
    file.write_text(captured.source.source.replace("class Model(", "class ModelNew("))
    made = live.load(file, captured.source, captured.tensors)
    assert not made.training
    x = torch.randn(2, 4)
    torch.testing.assert_close(made(x), module(x))
    renamed = captured.source.source.replace("class Model(", "class ModelNew(").replace("'weight'", "'w'")
    file.write_text(renamed.replace("self.weight", "self.w"))
    torch.testing.assert_close(live.load(file, captured.source, captured.tensors)(x), module(x))


class Cached(nn.Module):
    """Counts from where its cache ends, as a decoder does, and by its number of rows."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("places", torch.arange(64.0).view(1, 64, 1), persistent=False)

    def forward(self, x, *, past=None):
        first = 0 if past is None else past.shape[1]
        found = self.inner(x + self.places[:, first : first + x.shape[1]]) / x.shape[0]
        return found if past is None else (found, torch.cat((past, found), 1))


def kernel_of(captured, folder):
    """What a drop-in does where its kernel is not for a call: it asks the trace."""
    file = folder / "model_new.py"
    guarded = "\n\nclass ModelNew(Model):\n    def forward(self, *leaves):\n        return super().forward(*leaves)\n"
    file.write_text(captured.source.source + guarded)
    return live.load(file, captured.source, captured.tensors, captured.call)


@pytest.mark.parametrize(("rows", "steps", "before"), [(2, 3, 5), (2, 3, 9), (1, 3, 5), (2, 1, 5), (2, 1, 0)])
def test_sizes_that_a_trace_does_not_know_are_the_live_modules(tmp_path, rows, steps, before):
    module = Cached()
    captured = live.capture(module, (torch.randn(2, 3, 4),), {"past": torch.randn(2, 5, 4)})
    made = captured.call.around(kernel_of(captured, tmp_path))
    x, past = torch.randn(rows, steps, 4), torch.randn(rows, before, 4) if before else None
    torch.testing.assert_close(made(x, past=past), module(x, past=past))


@pytest.mark.parametrize("rows", [2, 1, 7])
def test_and_they_are_computed_with_the_weights_of_the_drop_in(tmp_path, rows):
    module = Cached()
    captured = live.capture(module, (torch.randn(2, 3, 4),))
    made = captured.call.around(kernel_of(captured, tmp_path))
    with torch.no_grad():
        made.inner.bias += 1.0
        other = copy.deepcopy(module)
        other.inner.bias += 1.0
    x = torch.randn(rows, 3, 4)
    torch.testing.assert_close(made(x), other(x))


class Heads(nn.Module):
    """Attention that asks for its sizes, as people write it."""

    def __init__(self):
        super().__init__()
        self.all, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        rows, tokens, width = x.shape
        q, k, v = self.all(x).view(rows, tokens, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(found.transpose(1, 2).reshape(rows, tokens, width))


@pytest.mark.parametrize(("rows", "tokens"), [(2, 5), (7, 3), (1, 1)])
def test_a_text_computes_with_sizes_that_its_module_leaves_open(tmp_path, rows, tokens):
    module = Heads()
    captured = live.capture(module, torch.randn(2, 5, 8))
    file = tmp_path / "model_new.py"
    file.write_text(captured.source.source.replace("class Model(", "class ModelNew("))
    x = torch.randn(rows, tokens, 8)
    torch.testing.assert_close(live.load(file, captured.source, captured.tensors)(x), module(x))


def answering(adapted, kernel):
    """Put a function in the place of the kernel that a live module's drop-in asks."""
    adapted.kernel.forward = kernel
    return adapted


def test_a_call_of_other_sizes_is_the_kernels_to_judge_unless_the_result_tells_sizes(tmp_path):
    module = nn.Linear(4, 4)
    captured = live.capture(module, {"input": torch.randn(2, 4)})
    kernel = kernel_of(captured, tmp_path)
    made = answering(Adapted(kernel, captured.call), lambda x: x * 0)
    assert not made(torch.randn(7, 4)).any()
    captured.call.result = {"dict": {"found": 0, "rows": {"value": 2}}}
    torch.testing.assert_close(made(torch.randn(7, 4).fill_(1.0)), module(torch.ones(7, 4)))


class Tied(nn.Module):
    """Words that are read and written by one matrix, a table that is not saved, and a head that nobody asks."""

    def __init__(self):
        super().__init__()
        self.words, self.out, self.unused = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False), nn.Linear(2, 2)
        self.out.weight = self.words.weight
        self.register_buffer("cos", torch.rand(9, 4), persistent=False)

    def forward(self, call):
        found = self.out(self.words(call["ids"]) * self.cos[: call["ids"].shape[1]]) * torch.tensor([1.0, 2.0, 1.0] * 3)
        return {"logits": found}


LIVE = [
    (Tied(), {"call": {"ids": torch.arange(8).view(2, 4)}}),
    (Cached(), (torch.randn(2, 3, 4),)),
    (Block(8, torch.relu), (torch.randn(6, 8), 3)),
]


@pytest.mark.parametrize(("module", "inputs"), LIVE)
def test_a_drop_in_is_saved_moved_and_set_as_the_live_module_is(module, inputs, tmp_path):
    module.eval()
    captured = live.capture(module, inputs)
    made = captured.call.around(kernel_of(captured, tmp_path))
    saved = made.state_dict()
    assert saved.keys() == module.state_dict().keys()
    copied = copy.deepcopy(made)
    with torch.no_grad():
        doubled = {name: value * 2 if value.is_floating_point() else value for name, value in saved.items()}
    copied.load_state_dict(doubled)
    module.load_state_dict(doubled)
    called = (lambda one: one(**inputs)) if isinstance(inputs, dict) else (lambda one: one(*inputs))
    torch.testing.assert_close(called(copied), called(module))
    assert not any(one.training for one in made.modules())
    assert all(one.training for one in made.train().modules())
    assert {p.dtype for p in made.double().parameters()} == {torch.float64}
    assert {name for name, _ in made.named_parameters()} == {name for name, _ in module.named_parameters()}
