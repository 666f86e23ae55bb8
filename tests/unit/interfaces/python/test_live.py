"""Live modules as tasks: what is written down computes the same, for the referee and for whoever loads the weights."""

import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright.errors import TaskError
from kernelwright.interfaces.python import live
from kernelwright.interfaces.python.live import drawn
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


def test_what_torch_compile_wraps_is_captured_itself():
    captured = live.capture(torch.compile(nn.Linear(3, 3), backend="eager"), (torch.randn(2, 3),))
    assert (captured.source.name, list(captured.tensors)) == ("Linear", ["weight", "bias"])


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
        (lambda x: x, (torch.randn(3), torch.randn(3)), "lambda cannot be exported .TypeError: too many"),
        (Autocast(), (torch.randn(3, 3),), "Autocast does what cannot be written down"),
        (lambda x: {"y": x + 1}, (torch.randn(3),), "must return a tensor, or a tuple or list of tensors"),
        (torch.relu, (), "needs example inputs, at least one tensor"),
        (lambda x, y: x + y, (SAME, SAME), "is given one tensor twice"),
        (lambda x, y: x, (torch.randn(3), "text"), "input 1 of .* is a str"),
    ],
)
def test_what_cannot_be_a_task_is_refused_with_the_cure(what, inputs, said):
    with pytest.raises(TaskError, match=said) as caught:
        live.capture(what, inputs)
    assert any(fix in str(caught.value) for fix in ("Write a task file", "inputs=(", "rap the module", live.INSTEAD))


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
        (torch.randn(40, 50).softmax(-1), lambda t: torch.allclose(t.sum(-1), torch.ones(40))),
        (torch.rand(1000) * 7, lambda t: t.min() >= 0 and 6 < t.max() < 7),
        (torch.randn(1000) * 3 - 20, lambda t: -21 < t.mean() < -19 and 2 < t.std() < 4),
        (torch.randint(0, 2, (100,)).float() * 2 - 1, lambda t: set(t.unique().tolist()) == {-1.0, 1.0}),
        (torch.randn(8, dtype=torch.float16), lambda t: t.dtype == torch.float16),
        (torch.empty(0, 3), lambda t: t.numel() == 0),
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
