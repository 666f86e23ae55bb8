"""A task whose `Model` is a plain function: its drop-in is a class that calls it."""

import asyncio
import json
import os
import subprocess
import sys
from itertools import product

import pytest

from kernelwright.errors import ProposeError
from kernelwright.export.model_new import wrap
from kernelwright.export.reference import reference
from kernelwright.export.results import put_together
from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec
from lanes import sampled

DEFINED = """import torch

SLOPE = 1.0


def scaled(x):
    return x * SLOPE


def Model(x, bias, /, *, alpha: "float" = SLOPE):
    return torch.relu(scaled(x) + alpha * bias)


def get_inputs():
    return [torch.randn(64, 33), torch.randn(64, 33)]
"""
NAMED = DEFINED.replace("def Model", "def fused").replace("def get_inputs", "Model = fused\n\n\ndef get_inputs")
CHECK = """
import torch, exported as e
torch.manual_seed(0)
new, x, y = e.ModelNew(), torch.randn(64, 33), torch.randn(64, 33)
with torch.no_grad():
    assert torch.allclose(new(x, y), e._task_function(x, y), atol=1e-6)
    assert torch.allclose(new(x, y, alpha=2.0), e._task_function(x, y, alpha=2.0), atol=1e-6)
import json
print(json.dumps(e.ModelNew.stats()))
"""


def task(source, kind):
    def node(name, op, **arguments):
        given = tuple(Argument(name=k, value=Ref(ref=v)) for k, v in arguments.items())
        return OpNode(name=name, op=op, arguments=given, result=(), bytes=0, flops=0)

    x, bias, out = (TensorSpec(name=name, shape=(64, 33), dtype="float32") for name in ("x", "bias", "relu"))
    nodes = (node("add", "aten.add.Tensor", self="x", other="bias"), node("relu", "aten.relu.default", self="add"))
    return Task(
        source=TaskSource(name="fused", format="kernelbench", source=source),
        target=Target(kind=kind, arch="native" if kind == "cpu" else "sm_90", present=kind == "cpu"),
        workload=Workload(inputs=(x, bias), parameters=(), outputs=(out,)),
        graph=OpGraph(inputs=("x", "bias"), parameters=(), outputs=("relu",), nodes=nodes),
    )


@pytest.mark.parametrize(
    ("source", "kind"),
    sampled(product((DEFINED, NAMED), ("cpu", "cuda")), lambda source, kind: (source is NAMED) == (kind == "cuda")),
)
def test_it_answers_as_the_function_does(source, kind, tmp_path):
    wanted = task(source, kind)
    (made,) = asyncio.run(Author().propose(Brief(wanted, ProposalRequest(number=0, intent="seed"), (), (), 0)))
    (tmp_path / "exported.py").write_text(wrap(wanted, next(made.candidate.points())))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    environment |= {"TRITON_INTERPRET": "1"} if kind == "cuda" else {}
    done = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    assert (counts["kernel"], sum(counts["reference"].values())) == (1, 1)


def test_constructor_arguments_are_taken_and_mean_nothing():
    found = reference(DEFINED + "\n\ndef get_init_inputs():\n    return [3]\n")
    assert "def __init__(self, *arguments)" in found.body
    assert (found.signature, found.arguments) == ("x, bias, /, *, alpha=SLOPE", ("x", "bias"))


OUT = "@dataclasses.dataclass\nclass Out:\n    y: object\n    rest: tuple = ()\n\n\n"
HELD = (
    DEFINED.replace("import torch\n", "import dataclasses, torch\n", 1)
    .replace("def Model", f"{OUT}def Model")
    .replace(
        "return torch.relu(scaled(x) + alpha * bias)",
        "return Out(torch.relu(scaled(x) + alpha * bias), (None, 'relu'))",
    )
)
IN_THEIR_FORM = """
import torch, exported as e
new, x, y = e.ModelNew(), torch.randn(64, 33), torch.randn(64, 33)
with torch.no_grad():
    found, wanted = new(x, y), e._task_function(x, y)
assert (type(found), found.rest) == (e.Out, (None, "relu")), found
assert torch.allclose(found.y, wanted.y, atol=1e-6)
assert e.ModelNew.stats()["kernel"] == 1, e.ModelNew.stats()
"""


def test_results_come_back_in_the_form_of_the_function_s_own(tmp_path):
    wanted = task(HELD, "cpu")
    tree = {"dataclass": "Out", "fields": {"y": 0, "rest": {"tuple": [None, {"text": "relu"}]}}}
    wanted = wanted.model_copy(update={"workload": wanted.workload.model_copy(update={"result": tree})})
    assert wanted.id == task(HELD, "cpu").id
    (made,) = asyncio.run(Author().propose(Brief(wanted, ProposalRequest(number=0, intent="seed"), (), (), 0)))
    (tmp_path / "exported.py").write_text(wrap(wanted, next(made.candidate.points())))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", IN_THEIR_FORM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("name", ["Out(); import os", "a.b-c"])
def test_a_name_that_is_none_does_not_reach_a_kernel_s_file(name):
    with pytest.raises(ProposeError, match="is no name"):
        put_together({"dataclass": name, "fields": {"y": 0}})
