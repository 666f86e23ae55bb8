"""Identity: another behaviour is another hash; the same behaviour under another name is the same."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.records.base import Record, identity
from kernelwright.records.candidate import (
    Candidate,
    Define,
    Recipe,
    RecipeConstant,
    RecipeLaunch,
    RecipeWorkspace,
    Tunable,
)
from kernelwright.records.comparator import Calibrated, DeclaredComparator, Statistical, Ties
from kernelwright.records.free_sizes import FreeAxis, FreeSizes
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.numerics import Numerics
from kernelwright.records.task import DeclaredDomain, Target, Task, TaskLimits, TaskSource, Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec
from kernelwright.records.workloads import Axis, Part, WorkloadPoint, WorkloadSet

X = TensorSpec(name="x", shape=(4, 8), dtype="int64", domain=Domain.INDEX, bound=7)
CANDIDATE = Candidate(
    language="cpp",
    source="int main;",
    entry="f",
    flags=("-O3",),
    workspace_bytes=16,
    tunables=(Tunable(name="BLOCK", values=(1, 2)),),
    defines=(Define(name="UNROLL", value=4),),
    recipe=Recipe(
        launches=(
            RecipeLaunch(kernel="k", grid=("1", "2", "3"), block=("4", "5", "6"), cooperative=True, arguments=("in0",)),
        ),
        workspaces=(RecipeWorkspace(nbytes="64"),),
        constants=(RecipeConstant(name="N", value="in0.numel"),),
        zeroed_outputs=(0,),
    ),
)
POINT = WorkloadPoint(name="few", axes={"columns": 4}, values={"epsilon": 0.5})
TASK = Task(
    source=TaskSource(
        name="a",
        format="kernelbench",
        source="pass",
        domains=(DeclaredDomain(position=0, domain=Domain.INDEX, bound=7),),
        comparators=(DeclaredComparator(position=0, comparator=Statistical(draws=20)),),
        description="all of it added up",
        host="total(x, out);",
        limits=TaskLimits(
            arch="sm_86",
            workspace_bytes=1,
            shared_bytes=2,
            registers=3,
            library_calls="forbid",
            target_us=4.5,
            notes=("in place",),
        ),
        serial="void total() {}",
        sizes={"n": 8},
        workloads=WorkloadSet(
            axes=(Axis(name="rows", low=1, high=64, expression="columns // 2"), Axis(name="columns", high=512)),
            points=(POINT,),
            constraints=("rows <= columns",),
        ),
        part=Part(point=POINT, sizes={"rows": 2, "columns": 4}, among=3),
    ),
    target=Target(kind="cpu", arch="native", present=True, device="a device"),
    workload=Workload(
        inputs=(X, Scalar(name="eps", value=0.5)),
        parameters=(TensorSpec(name="weight", shape=(8,), dtype="float32", bound=9),),
        outputs=(TensorSpec(name="out", shape=(4,), dtype="float32", domain=Domain.NON_NEGATIVE, bound=3),),
        tree={"args": [0], "kwargs": {"eps": 1}},
        result={"all": 0},
        changes=("x",),
        state=("x",),
        constants=("weight",),
    ),
    graph=OpGraph(
        inputs=("x",),
        parameters=("weight",),
        nodes=(
            OpNode(
                name="sum", op="aten.sum.default", arguments=(Argument(name="self", value=Ref(ref="x")),),
                result=(X,), bytes=10, flops=20,
            ),
        ),
        outputs=("sum",),
    ),
    comparators=(Calibrated(k=2.0), Ties(of="x", distinct=True)),
    numerics=Numerics(flags={"cudnn.allow_tf32": True}, candidate={"cudnn.benchmark": True}),
    free=FreeSizes(axes=(FreeAxis(name="size0", size=4, high=9),), places={"inputs.0.shape.0": "size0"}),
)  # fmt: skip

CHOICES = {
    ("numerics", "mode"): "strict",
    ("source", "workloads", "sets"): "globals",
    ("source", "workloads", "axes", 0, "expression"): "columns // 4",
    ("source", "workloads", "constraints", 0): "rows < columns",
    ("language",): "triton",
    ("target", "kind"): "cuda",
    ("source", "format"): "text",
    ("source", "limits", "arch"): "sm_90",
    ("source", "limits", "library_calls"): "",
    ("source", "comparators", 0, "comparator", "false_alarm"): 0.01,
}
"""Fields with few legal values, and another one of them; a comparator's `kind` has one value only."""


UNHASHED = [("source", "name"), ("source", "spec"), ("workload", "result"), ("free",)]
"""The name of a task, and what follows from its source."""


def leaves(value, path=()):
    """Every plain value inside dumped data, by the path to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items or not value:
        yield path, value
        return
    for key, inner in items:
        yield from leaves(inner, (*path, key))


def another(path, value):
    """A different legal value."""
    if path in CHOICES:
        return CHOICES[path]
    if path[-1] == "domain":
        return Domain.MASK.value
    if path[-1] == "dtype":
        return "float16"
    if isinstance(value, bool):
        return not value
    return value + "x" if isinstance(value, str) else value + 1


def changed(record: Record, path):
    """The record with one value replaced."""
    data = record.model_dump(mode="json")
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = another(path, inner[path[-1]])
    return type(record).model_validate_json(json.dumps(data))


def paths_of(record):
    return [path for path, _ in leaves(record.model_dump(mode="json"))]


def test_the_samples_fill_every_field():
    """Otherwise the tests below would miss what is empty here."""
    for record in (CANDIDATE, TASK):
        empty = [path for path, value in leaves(record.model_dump(mode="json")) if value in (None, "", [])]
        assert {*empty} <= {*UNHASHED, ("parts",), ("source", "workloads", "axes", 1, "expression")}


@pytest.mark.parametrize("path", paths_of(CANDIDATE), ids=lambda path: ".".join(map(str, path)))
def test_every_field_of_a_candidate_that_changes_behaviour_changes_its_id(path):
    same = changed(CANDIDATE, path).id == CANDIDATE.id
    assert same == (path[0] == "tunables")


@pytest.mark.parametrize(
    "path",
    [
        p
        for p in paths_of(TASK)
        if not ("comparator" in str(p) and p[-1] == "kind") and p not in (("source", "spec"), ("parts",))
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_every_field_of_a_task_but_its_name_changes_its_id(path):
    assert (changed(TASK, path).id == TASK.id) == any(path[: len(one)] == one for one in UNHASHED)


def test_what_each_workload_was_admitted_as_is_part_of_a_task():
    part = TASK.model_copy(update={"graph": OpGraph(inputs=(), parameters=(), nodes=(), outputs=())})
    assert len({TASK.id, *(TASK.model_copy(update={"parts": parts}).id for parts in ((TASK,), (part,)))}) == 3


def test_words_and_limits_that_are_not_there_leave_a_task_what_it_was():
    """Evaluations and receipts from before there were any still hold."""
    bare = TASK.source.model_copy(
        update={
            "description": "",
            "host": "",
            "limits": TaskLimits(),
            "serial": "",
            "sizes": {},
            "workloads": None,
            "part": None,
        }
    )
    assert bare.identity_fields().keys() == {"format", "source", "domains", "comparators"}
    assert bare.model_copy(update={"limits": TaskLimits(registers=3)}).identity_fields().keys() >= {"limits"}


def test_identity_survives_json():
    assert Candidate.model_validate_json(CANDIDATE.model_dump_json()).id == CANDIDATE.id
    assert Task.model_validate_json(TASK.model_dump_json()).id == TASK.id


def test_order_matters_where_the_build_sees_it():
    flags = ("-O3", "-ffast-math")
    forward, backward = (CANDIDATE.model_copy(update={"flags": f}) for f in (flags, flags[::-1]))
    assert forward.id != backward.id


def test_the_kind_is_part_of_the_identity():
    assert identity("task", {"a": 1}) != identity("candidate", {"a": 1})


def test_identity_is_sixteen_hex_digits_and_known():
    """A change of the canonical form would orphan every stored evaluation."""
    assert identity("candidate", {"b": [1, "é"], "a": None}) == "0fad9be2b6ad727c"


@settings(max_examples=50, derandomize=True, database=None)
@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=6), st.text(max_size=6))
def test_no_two_splits_of_a_text_collide(a, b, c, d):
    same = identity("k", {"x": a, "y": b}) == identity("k", {"x": c, "y": d})
    assert same == ((a, b) == (c, d))
