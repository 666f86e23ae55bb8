"""What is exported is read whole: regions, writes through views, constants; what cannot be read is declined by name."""

import cProfile
import json
import logging
import os
import pstats
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from author_cases import build, call, case, error, model
from forms import BITS, CONSTANTS, FORMS, PICKED, RECURRENT, REGIONS, VIEWS, form, source

from kernelwright.errors import ProposeError
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.read import read
from kernelwright.propose.author.search.designs import cpp_design, triton_design
from kernelwright.records.graph import Argument, Ref
from lanes import asked_for, sampled

pytest.importorskip("torch")
QUICK = (
    "autocast",
    "a row of a transpose",
    "masked",
    "state",
    "rotary",
    "made in forward",
    "an empty one",
    "an LSTM from a state",
    "two layers both ways",
    "softmax of segments",
    "a gradient within",
)
"""Forms whose kernels are run each time."""
LOW = ("autocast", "autocast around all")
"""Forms whose own numbers have eight bits, which kernels need not have."""


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read_whole(name):
    found = form(name).task
    known = {s.name for s in (*found.workload.tensors, *found.workload.parameters)}
    for node in found.graph.nodes:
        assert known.issuperset(node.reads), node
        known.add(node.name)
    assert found.graph.stale(found.workload.state) is None
    assert not cpp_design(found).program.kept


@pytest.mark.parametrize("name", [*VIEWS, *CONSTANTS, *BITS, *(name for name in RECURRENT if "layers" not in name)])
def test_nothing_of_a_form_stays_on_a_gpu(name):
    assert not triton_design(form(name, "cuda").task).program.kept


@pytest.mark.parametrize("name", PICKED)
def test_what_is_picked_at_places_that_are_data_is_stored_before(name):
    assert sum(b.name.endswith(".held") for b in cpp_design(form(name).task).program.buffers) == 2


def test_a_loss_that_picks_one_of_each_row_stores_no_logarithms():
    picked = case(
        source(
            "return x.log_softmax(1).gather(1, at)", "torch.randn(6, 8), torch.randint(0, 8, (6, 1))", arguments="x, at"
        )
    )
    assert not cpp_design(picked.task).program.buffers


def test_autocast_is_what_it_computes():
    nodes = form("autocast").task.graph.nodes
    assert [n.result[0].dtype for n in nodes if n.op == "aten.linear.default"] == ["bfloat16"]
    assert "higher_order" not in "".join(n.op for n in nodes)


def test_a_decorated_forward_has_the_graph_of_a_plain_one():
    plain = case(source("return torch.relu(x) * 2")).task.graph
    assert all(form(name).task.graph == plain for name in [*REGIONS][:3])


@pytest.fixture(scope="module")
def compiled(request, tmp_path_factory):
    names = [name for name in FORMS if name in asked_for(request, test_cpp_is_right)] or [*FORMS]
    cases = [form(name) for name in names]
    candidates = [d.write(d.default) for d in (cpp_design(found.task) for found in cases)]
    entries = build(candidates, tmp_path_factory.mktemp("forms"))
    rooms = [candidate.workspace_bytes for candidate in candidates]
    return dict(zip(names, zip(entries, cases, rooms, strict=True), strict=True))


@pytest.mark.parametrize("name", sampled(FORMS, lambda name: name in QUICK))
def test_cpp_is_right(compiled, name):
    entry, found, room = compiled[name]
    results = zip(call(entry, found, workspace=room), found.reference(), found.eager(), strict=True)
    assert_right(name, [(error(g, w), error(e, w), g.dtype == e.dtype and g.shape == e.shape) for g, w, e in results])


@pytest.fixture(scope="module")
def interpreted(request, tmp_path_factory):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("forms.py"), str(tmp_path_factory.mktemp("forms")),
         *asked_for(request, test_triton_is_right)],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: errors for name, _, errors in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", sampled(FORMS, lambda name: name in QUICK))
def test_triton_is_right(interpreted, name):
    assert_right(name, interpreted[name])


def assert_right(name, errors):
    assert errors
    for got, eager, alike in errors:
        assert alike
        assert got < 4 * eager + 4e-7 + (0.2 if name in LOW else 0)


STAYING = {
    "complex numbers": ("return torch.fft.irfft(torch.fft.rfft(x) * self.w) * 2", "self.w = torch.rand(5)", "aten.fft_rfft"),
    "a long recurrence": (
        "return self.r(x.repeat(9, 1))[0] * 2", "self.r = nn.GRU(8, 16)", "aten.gru.input: a recurrent layer",
    ),
    "a projection": ("return self.r(x)[0] * 2", "self.r = nn.LSTM(8, 16, proj_size=4)", "aten.lstm.input: a recurrent layer"),
    "a scatter with a reduction": (
        "i = (x.abs() * 3).long().clamp(0, 5)\nreturn torch.zeros(600, 8).scatter_reduce(0, i, x, 'amax') * 2", "pass",
        "aten.scatter_reduce.two: it writes to positions",
    ),
    "positions of which two may be one": (
        "i = (x[:, 0].abs() * 3).long().clamp(0, 5)\ny = torch.zeros(6, 8)\n"
        "y.index_put_((i,), x)\nreturn y + 1", "pass", "aten.index_put.default: it writes to positions",
    ),
}  # fmt: skip
"""Lines of a forward, what its module holds, and what a CPU is told of what stays PyTorch's."""


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("name", STAYING)
def test_what_no_kernel_has_stays_with_its_name(name):
    lines, init, words = STAYING[name]
    text = source(lines, init=init)
    with pytest.raises(ProposeError, match=words):
        Author().refuse(case(text, "t").task, "cpp")
    design = triton_design(case(text, "t", "cuda").task)
    assert design.program.kept
    compile(design.write(design.default).source, name, "exec")
    assert "complex64" not in {t.dtype for k in design.program.kernels for t in k.part.reads}


def test_eight_bits_that_a_gpu_rounds_to_in_no_instruction_are_not_read_there():
    found = case(source("return x.to(torch.float8_e5m2).float() * 2"), "t", "cuda")
    design = triton_design(found.task)
    assert [step.why for step in design.program.kept] == [
        "a cast from float to float8_e5m2", "it reads numbers of type float8_e5m2, which no kernel of the author does",
    ]  # fmt: skip
    assert "float8_e5m2" not in {t.dtype for k in design.program.kernels for t in k.part.reads}


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_a_constant_that_nobody_can_hand_over_is_named(kind):
    lines = "return torch.view_as_real(torch.view_as_complex(x.view(6, 4, 2)) * self.w) + 1"
    task = case(source(lines, init="self.w = torch.polar(torch.ones(4), torch.rand(4))"), "t", kind).task
    with pytest.raises(ProposeError, match=r"aten\.mul\.Tensor \(mul\) reads 'c_w', which is no tensor"):
        Author().refuse(task, None)


def test_a_graph_with_a_write_that_another_view_sees_is_refused_by_name():
    task = case(model("(x * 3).relu_()", "torch.randn(4, 4)")).task
    mul, relu = task.graph.nodes
    select = mul.model_copy(
        update={"name": "select", "op": "aten.select.int", "result": (mul.result[0].model_copy(update={"shape": (4,)}),),
                "arguments": (Argument(name="self", value=Ref(ref=mul.name)), Argument(name="dim", value=1))},
    )  # fmt: skip
    write = relu.model_copy(update={"arguments": (Argument(name="self", value=Ref(ref="select")),)})
    graph = task.graph.model_copy(update={"nodes": (mul, select, write), "outputs": (mul.name,)})
    assert graph.stale() == write
    with pytest.raises(ProposeError, match=rf"aten.relu_.default \({write.name}\) writes to memory"):
        cpp_design(task.model_copy(update={"graph": graph}))


def test_a_fault_in_reading_one_operation_leaves_it_to_pytorch(monkeypatch, caplog):
    monkeypatch.setitem(read.OPERATIONS, "aten.tanh.default", lambda b, a: {}[a.node.name])
    with caplog.at_level(logging.INFO):
        design = triton_design(case(model("x.tanh().softmax(-1) * 2", "torch.randn(4, 40)"), "t", "cuda").task)
    (kept,) = design.program.kept
    assert (kept.node.op, "KeyError" in kept.why, "Traceback" in caplog.text) == ("aten.tanh.default", True, True)
    assert [kernel.family for kernel in design.program.kernels]


def test_any_fault_of_the_author_is_a_refusal_with_its_place(monkeypatch, caplog):
    monkeypatch.setattr(read._Reader, "_hold", lambda self, node: [][len(node.name)])
    task = case(model("x.softmax(-1)", "torch.randn(4, 40)")).task
    with caplog.at_level(logging.INFO), pytest.raises(ProposeError, match=r"fault of the built-in author \(IndexError"):
        Author().refuse(task, None)
    assert Author().tuning_key(task, None) is None
    assert "in <lambda>" in caplog.text


LARGE = {
    "a recurrence": lambda n: source(
        f"h, out = torch.zeros(2, 8), []\nfor t in range({n}):\n    h = torch.tanh(self.a(x[:, t]) + self.b(h))\n"
        "    out.append(h)\nreturn torch.stack(out, 1)",
        f"torch.randn(2, {n}, 8)", "self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)",
    ),
    "joins of all before": lambda n: source(
        "found = [x]\nfor layer in self.layers:\n    found.append(layer(torch.cat(found, 1)).relu())\n"
        "return torch.cat(found, 1)", "torch.randn(1, 4, 6, 6)",
        f"self.layers = nn.ModuleList(nn.Conv2d(4 + 2 * n, 2, 3, padding=1) for n in range({n}))",
    ),
    "used twice each": lambda n: source(f"for _ in range({n}):\n    x = torch.sin(x) * 0.5 + x\nreturn x"),
}  # fmt: skip
GROWTH = {"a recurrence": 3.0, "joins of all before": 5.0, "used twice each": 3.0}
"""How many times more steps a plan takes for a graph of twice the length; a join of all before has four times the parts."""


@pytest.mark.parametrize(
    ("name", "kind"),
    sampled(product(LARGE, ("cpu", "cuda")), lambda name, kind: (name, kind) == ("a recurrence", "cpu")),
)
def test_a_plan_grows_as_the_graph_does(name, kind):
    short, long = (calls_of(case(LARGE[name](n), "large", kind).task) for n in (24, 48))
    assert long < GROWTH[name] * short


def calls_of(task):
    """Python functions that are called while a task is planned and written."""
    profile = cProfile.Profile()
    profile.enable()
    Author().refuse(task, None)
    profile.disable()
    return pstats.Stats(profile).total_calls


@pytest.mark.matrix
def test_a_recurrence_of_hundreds_of_steps_is_planned():
    task = case(LARGE["a recurrence"](256)).task
    assert len(task.graph.nodes) > 256
    assert Author().refuse(task, None) is None
