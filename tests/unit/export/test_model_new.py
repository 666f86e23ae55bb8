"""The exported file by itself, in a process of its own: equal results, and the reference where it must be."""

import ast
import asyncio
import json
import os
import subprocess
import sys

import pytest

from kernelwright.errors import ProposeError
from kernelwright.export.model_new import chosen, fixed, unwrap, why_none, wrap
from kernelwright.export.reference import attribute, merged_imports, reference
from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.candidate import Candidate, Define, Recipe, RecipeLaunch
from kernelwright.records.free_sizes import FreeAxis, FreeSizes
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Scalar, TensorSpec

SOURCE = '''"""Docs."""

from __future__ import annotations

import torch
from torch import nn

ROWS = 6
SCALE = 2.0  # travels with Model


def helper(x):
    """Kept: Model calls it."""
    return x * SCALE


class Model(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.norm = nn.LayerNorm(features, eps=eps)
        self.register_buffer("shift", torch.ones(features))

    def forward(self, x, factor=2.0):
        return self.norm(helper(x)) * factor + self.shift


def get_inputs():
    return [torch.randn(ROWS, 40), 2.0]


def get_init_inputs():
    return [40]


if __name__ == "__main__":
    print("left behind")
'''


def node(name, op, **arguments):
    given = tuple(
        Argument(name=k, value=Ref(ref=v[1:]) if isinstance(v, str) and v.startswith("%") else v)
        for k, v in arguments.items()
    )
    return OpNode(name=name, op=op, arguments=given, result=(), bytes=0, flops=0)


def tensor(name, *shape):
    return TensorSpec(name=name, shape=shape, dtype="float32")


def task(kind="cpu", source=SOURCE):
    graph = OpGraph(
        inputs=("x",), parameters=("shift", "norm.weight", "norm.bias"), outputs=("add",),
        nodes=(
            node("mul", "aten.mul.Tensor", self="%x", other=2.0),
            node("norm", "aten.layer_norm.default", input="%mul", normalized_shape=(40,),
                 weight="%norm.weight", bias="%norm.bias", eps=1e-5),
            node("mul_1", "aten.mul.Tensor", self="%norm", other=2.0),
            node("add", "aten.add.Tensor", self="%mul_1", other="%shift"),
        ),
    )  # fmt: skip
    workload = Workload(
        inputs=(tensor("x", 6, 40), Scalar(name="factor", value=2.0)),
        parameters=(tensor("shift", 40), tensor("norm.weight", 40), tensor("norm.bias", 40)),
        outputs=(tensor("add", 6, 40),),
    )
    target = Target(kind=kind, arch="native" if kind == "cpu" else "sm_90", present=True)
    written = TaskSource(name="scaled_norm", format="kernelbench", source=source)
    rows = dict.fromkeys(("inputs.0.shape.0", "outputs.0.shape.0"), "size0")
    free = FreeSizes(axes=(FreeAxis(name="size0", size=6),), places=rows)
    return Task(source=written, target=target, workload=workload, graph=graph, free=free)


def candidate(wanted):
    brief = Brief(wanted, ProposalRequest(number=0, intent="seed"), (), (), 0)
    (proposal,) = asyncio.run(Author().propose(brief))
    return next(proposal.candidate.points())


def at_any_size(wanted):
    """The author's kernel as a drop-in, with what it says of other sizes."""
    brief = Brief(wanted, ProposalRequest(number=0, intent="seed"), (), (), 0)
    (proposal,) = asyncio.run(Author().propose(brief))
    chosen = next(proposal.candidate.points())
    attempt = Attempt.model_construct(proposal=proposal.model_copy(update={"candidate": chosen}))
    return wrap(wanted, chosen, Author().other_sizes(wanted, attempt))


CHECK = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
import exported as e
torch.manual_seed(0)
old, new = e.Model(40), e.ModelNew(40)
new.load_state_dict(old.state_dict())
x = torch.randn(6, 40)
report = {"keys": list(new.state_dict()) == list(old.state_dict())}

def same(name, *args, module=new, reference=old, near=1e-5):
    before = e.ModelNew.stats()["kernel"]
    wanted, found = reference(*args), module(*args)
    close = torch.allclose(wanted.double(), found.double(), atol=near)
    report[name] = [close and wanted.dtype == found.dtype, e.ModelNew.stats()["kernel"] - before]

with torch.no_grad():
    same("plain", x, 2.0)
    same("default", x)
    same("strided", torch.randn(40, 6).T, 2.0)
    same("every_other", torch.randn(6, 80)[:, ::2], 2.0)
    same("unaligned", torch.randn(241)[1:].view(6, 40), 2.0)
    same("other_factor", x, 3.0)
    same("other_rank", x[None], 2.0)
    same("first_of_shape", torch.randn(3, 40), 2.0)
    same("other_shape", torch.randn(3, 40), 2.0)
    same("double", x.double(), 2.0, module=new.double(), reference=old.double())
    new.float(), old.float()
    odd, odd_old = e.ModelNew(40, 0.5), e.Model(40, 0.5)
    same("other_eps", x, 2.0, module=odd, reference=odd_old)
    named = e.ModelNew(features=40)
    same("named_argument", x, 2.0, module=named, reference=e.Model(features=40))
same("grad", x, 2.0)
loss = new(x, 2.0).square().sum()
loss.backward()
report["gradient"] = bool(new.norm.weight.grad.abs().sum() > 0)
try:
    with torch.no_grad():
        new(torch.randn(6, 41), 2.0)
    report["wrong_width"] = "silent"
except RuntimeError:
    report["wrong_width"] = "raises"
if "--compile" in sys.argv:
    with torch.no_grad():
        same("compiled", x, 2.0, module=torch.compile(new, fullgraph=True))
report["stats"] = e.ModelNew.stats()["reference"]
print(json.dumps(report))
"""


def judged(text, folder, *flags, **environment):
    (folder / "exported.py").write_text(text)
    (folder / "check.py").write_text(CHECK)
    here = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "check.py", *flags], cwd=folder, env={**os.environ, **here, **environment},
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def expected(report, other_shape):
    for name in ("plain", "default", "strided", "every_other", "unaligned", "named_argument"):
        assert report[name] == [True, 1], name
    for name in ("other_factor", "other_rank", "double", "other_eps", "grad"):
        assert report[name] == [True, 0], name
    assert report["other_shape"] == [True, other_shape]
    assert report["keys"] and report["gradient"]
    assert report["wrong_width"] == "raises"
    assert any("autograd" in why for why in report["stats"])
    assert any("numbers that the kernel was made for" in why for why in report["stats"])


def test_a_cpp_candidate_becomes_a_drop_in(tmp_path):
    wanted = task()
    text = wrap(wanted, candidate(wanted))
    assert max(map(len, text.splitlines())) <= 120
    expected(judged(text, tmp_path), other_shape=1)
    libraries = list((tmp_path / "cache" / "kernelwright").iterdir())
    assert {p.suffix for p in libraries} == {".so"}, "nothing half written"
    assert len(libraries) == 2, "one for the task's shape, one for any number of rows"
    assert (tmp_path / "cache" / "kernelwright").stat().st_mode & 0o077 == 0
    built = libraries[0].stat().st_mtime_ns
    expected(judged(text, tmp_path), other_shape=1)
    assert libraries[0].stat().st_mtime_ns == built, "compiled once"


def test_a_triton_candidate_is_a_drop_in(tmp_path):
    expected(judged(at_any_size(task("cuda")), tmp_path, TRITON_INTERPRET="1"), other_shape=1)


@pytest.mark.parametrize("free", [None, "declared"])
def test_a_kernel_of_which_no_other_size_is_known_serves_its_own_alone(free, tmp_path):
    wanted = task("cuda" if free else "cpu").model_copy(update={} if free else {"free": None})
    environment = {"TRITON_INTERPRET": "1"} if free else {}
    expected(judged(wrap(wanted, candidate(wanted)), tmp_path, **environment), other_shape=0)


@pytest.mark.parametrize("kind", [pytest.param("cpu", marks=pytest.mark.matrix), "cuda"])
def test_torch_compile_around_it_survives(kind, tmp_path):
    wanted = task(kind)
    environment = {"TRITON_INTERPRET": "1"} if kind == "cuda" else {}
    report = judged(wrap(wanted, candidate(wanted)), tmp_path, "--compile", **environment)
    assert report["compiled"] == [True, 1]


def test_without_a_compiler_the_reference_answers_and_says_so(tmp_path):
    wanted = task()
    (tmp_path / "exported.py").write_text(wrap(wanted, candidate(wanted)))
    code = (
        "import torch, exported as e\nnew, x = e.ModelNew(40), torch.randn(6, 40)\n"
        "with torch.no_grad(): assert torch.equal(new(x), e.Model.forward(new, x)), 'not the reference'\n"
        "print(e.ModelNew.stats())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "CXX": "no-such-compiler"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "install g++, or set CXX" in done.stderr
    assert "'kernel': 0" in done.stdout


def test_a_triton_drop_in_without_a_gpu_is_the_reference(tmp_path):
    wanted = task("cuda")
    (tmp_path / "exported.py").write_text(wrap(wanted, candidate(wanted)))
    code = (
        "import torch, exported as e\nnew, x = e.ModelNew(40), torch.randn(6, 40)\n"
        "with torch.no_grad(): assert torch.equal(new(x), e.Model.forward(new, x)), 'not the reference'\n"
    )
    here = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not on a GPU" in done.stderr


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_the_kernel_comes_back_out_of_its_drop_in(kind):
    wanted = task(kind)
    chosen = candidate(wanted)
    found = unwrap(wrap(wanted, chosen))
    assert (found.language, found.source) == (chosen.language, fixed(chosen) if kind == "cuda" else chosen.source)
    assert (found.entry, found.flags) == (chosen.entry, chosen.flags)
    assert unwrap(chosen.source) is None


@pytest.mark.parametrize("damage", ["SOURCE = ", "class ModelNew("])
def test_a_drop_in_that_somebody_broke_is_any_other_file(damage):
    text = wrap(task(), candidate(task()))
    assert damage in text
    assert unwrap(text.replace(damage, f"({damage}")) is None
    assert unwrap(text.replace("SOURCE = ", "SORUCE = ")) is None


def test_chosen_tunables_come_back_too():
    chosen = candidate(task()).model_copy(update={"defines": (Define(name="BLOCK", value=2048),)})
    assert unwrap(wrap(task(), chosen)).defines == chosen.defines


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"changes": ("norm.running_mean",), "state": ("norm.running_mean",)}, "changes its state or inputs"),
        ({"changes": ("x",)}, "changes its state or inputs"),
        ({"tree": {"args": [{"made": "slice", "of": [0, None, None]}], "kwargs": {}}}, "does not take apart"),
    ],
)
def test_a_call_that_does_more_than_give_results_is_no_drop_in(more, words):
    wanted = task()
    wanted = wanted.model_copy(update={"workload": wanted.workload.model_copy(update=more)})
    with pytest.raises(ProposeError, match=words):
        wrap(wanted, Candidate(language="cpp", source="", entry="f"))


def test_a_source_of_its_own_has_the_chosen_tunables():
    tuned = Candidate(language="cuda_host", source="int x;\n", entry="f", defines=(Define(name="BLOCK", value=256),))
    assert chosen(tuned) == "#define BLOCK 256\nint x;\n"
    plan = "/* kernelwright\n[tunables]\nBLOCK = [128, 256]\n*/\n"
    recipe = Recipe(launches=(RecipeLaunch(kernel="f", grid=("1",) * 3, block=("1",) * 3, arguments=()),))
    planned = Candidate(language="cuda", source=plan, recipe=recipe, defines=tuned.defines)
    assert chosen(planned) == plan.replace("[128, 256]", "[256]")


def test_tunables_become_macros():
    chosen = candidate(task()).model_copy(update={"defines": (Define(name="BLOCK", value=2048),)})
    assert "    '-DBLOCK=2048',\n" in wrap(task(), chosen)


def test_only_what_the_model_needs_travels():
    found = reference(SOURCE)
    assert "def helper" in found.body
    assert "SCALE = 2.0" in found.body
    assert "get_inputs" not in found.body
    assert "ROWS" not in found.names
    assert "left behind" not in found.body
    assert found.arguments == ("x", "factor")
    assert (found.signature, found.passed) == ("x, factor=2.0", "x, factor")
    ast.parse(found.body)


def test_future_imports_come_first_and_nothing_twice():
    merged = merged_imports(("import torch", "from pathlib import Path"), reference(SOURCE).imports)
    assert merged[0] == "from __future__ import annotations"
    assert len(set(merged)) == len(merged)


@pytest.mark.parametrize(
    ("key", "text"),
    [("weight", "self.weight"), ("a.b.bias", "self.a.b.bias"), ("net.0.w", 'self.get_submodule("net.0").w')],
)
def test_state_dict_keys_become_attributes(key, text):
    assert attribute(key) == text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def broken(", "does not parse"),
        ("x = 1", "neither a class 'Model'"),
        (SOURCE.replace("SCALE", "TAKES"), "TAKES"),
    ],
)
def test_a_source_that_cannot_travel_is_refused(source, words):
    with pytest.raises(ProposeError, match=words):
        wrap(task(source=source), Candidate(language="cpp", source="", entry="f"))


@pytest.mark.parametrize(
    ("source", "language", "words"),
    [
        (SOURCE, "cpp", ""),
        (SOURCE, "cuda", ""),
        (SOURCE, "cuda_host", "cannot be written as a ModelNew file yet"),
        ("import torch\nModel = torch.nn.ReLU()\n", "cpp", "neither a class"),
        ("import torch\nModel = torch.nn.ReLU()\n", "triton", ""),
    ],
)
def test_what_the_task_alone_tells_of_its_drop_in_is_known_before_a_kernel_is(source, language, words):
    assert words in why_none(task(source=source), language)
    assert bool(why_none(task(source=source), language)) == bool(words)


def test_a_task_without_constructor_arguments_needs_no_function_for_them():
    text = "from torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return x\n"
    spec = TensorSpec(name="x", shape=(4,), dtype="float32")
    task = Task(
        source=TaskSource(name="plain", format="kernelbench", source=text),
        target=Target(kind="cpu", arch="native", present=True),
        workload=Workload(inputs=(spec,), parameters=(), outputs=(spec,)),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(), outputs=("x",)),
    )
    made = wrap(task, Candidate(language="cpp", source="int x;", entry="kernel"))
    assert "def get_init_inputs" not in made
    assert "OTHER_SIZES = ''" in made
