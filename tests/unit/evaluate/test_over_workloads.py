"""The referee over workloads: in which order, how each is asked, and what they come to together."""

import asyncio
import random

import pytest

from kernelwright.errors import TaskError
from kernelwright.evaluate.over_workloads import OverWorkloads, at_axes
from kernelwright.evaluate.session.limits import tightened
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Compiled, Incorrect, Verified
from kernelwright.records.policy import Policy
from kernelwright.records.reasons import reason_of
from kernelwright.records.tensor import TensorSpec
from kernelwright.records.workloads import Axis, WorkloadPoint, WorkloadSet
from kernelwright.testing.samples import ACCURACY, BUILD, sample_measured, sample_task

TASK = sample_task()
CANDIDATE = Candidate(language="cpp", source="int n = AXIS_N;", entry="kernel")
POLICY = Policy()


def source(*points, high=4096):
    rows = tuple(WorkloadPoint(name=f"w{n}", axes={"n": n}, **more) for n, more in points)
    return TASK.source.model_copy(update={"workloads": WorkloadSet(axes=(Axis(name="n", high=high),), points=rows)})


class Inner:
    """Admits every size but those it cannot bear, and measures a speedup by size."""

    def __init__(self, speedups=None, unfit=(), wrong=()):
        self.speedups, self.unfit, self.wrong, self.asked = speedups or {}, unfit, wrong, []

    async def admit(self, given, target):
        part = given.part
        if part is None:
            return TASK
        if part.sizes["n"] in self.unfit:
            raise TaskError("no such size", "raises")
        x = TensorSpec(name="x", shape=(part.sizes["n"],), dtype="float32")
        shapes = TASK.workload.model_copy(update={"inputs": (x,), "outputs": (x,)})
        return TASK.model_copy(update={"source": given, "workload": shapes})

    async def examine(self, given, target):
        return Fitness(
            checks=(Checked(name="duration", status="passed", figure="1 us"),), task=await self.admit(given, target)
        )

    async def evaluate(self, task, candidate, effort="search"):
        n = task.source.part.sizes["n"] if task.source.part else 0
        self.asked.append((n, effort))
        if n in self.wrong:
            return Incorrect(because="value", case="as given", evidence="off")
        if effort in ("verify", "replay"):
            return Verified(build=BUILD, accuracy=ACCURACY, how="untimed")
        return sample_measured(self.speedups.get(n, 2.0), final=effort == "final")

    async def replay(self, task, candidate, seeds):
        return await self.evaluate(task, candidate, "replay")


def judged(inner, given, effort="search", times=1):
    async def all_of_it():
        judge = OverWorkloads(inner, POLICY, random.Random(0))
        task = await judge.admit(given, TASK.target)
        return task, [await judge.evaluate(task, CANDIDATE, effort) for _ in range(times)]

    return asyncio.run(all_of_it())


def test_a_task_with_one_workload_goes_straight_through():
    inner = Inner()
    task, (found,) = judged(inner, TASK.source)
    assert task is TASK and task.main is task and not found.workloads
    assert inner.asked == [(0, "search")]


def test_the_smallest_first_without_time_then_what_counts_in_order_of_size():
    inner = Inner()
    _, (found,) = judged(inner, source((4096, {}), (8, {"weight": 0}), (64, {"weight": 3})))
    untimed = [n for n, effort in inner.asked if effort == "verify"]
    assert untimed == sorted(untimed) and 8 in untimed and len(untimed) == 5
    assert inner.asked[len(untimed) :] == [(64, "search"), (4096, "search")]
    assert [row.drawn for row in found.workloads].count(True) == 4


def test_the_whole_is_the_weighted_mean_and_the_main_workload_s_task():
    task, (found,) = judged(Inner({64: 4.0, 512: 1.0}), source((512, {}), (64, {"weight": 3})))
    assert task.main.source.part.sizes == {"n": 64} and len(task.parts) == 2
    assert found.timing.against("eager").speedup.median == pytest.approx(4**0.75)
    assert found.timing.against("eager").verdict == "faster" and found.timing.arms == ()
    assert len(found.seconds) == sum(len(row.evaluation.seconds) for row in found.workloads)


def test_slower_on_a_protected_workload_is_slower_whatever_the_mean():
    _, (found,) = judged(Inner({64: 9.0, 512: 0.5}), source((64, {"weight": 9}), (512, {"protected": True})))
    assert found.timing.against("eager").verdict == "slower"
    assert found.timing.against("eager").speedup.median == 0.5


def test_what_is_wrong_somewhere_is_wrong_and_nothing_larger_is_asked():
    inner = Inner(wrong=(64,))
    _, (found,) = judged(inner, source((4096, {}), (64, {})))
    assert found.outcome == "incorrect" and found.workloads[-1].point.axes == {"n": 64}
    assert (4096, "search") not in inner.asked


ONE_SIZE = "int n = 4096;"
FITS = "def _fits(x):\n    return tuple(x.shape) == (4096,)\n\nclass ModelNew: ..."


@pytest.mark.parametrize(
    ("language", "text", "one"),
    [("cpp", ONE_SIZE, True), ("cpp", "int n = AXIS_N;", False), ("triton", FITS, True),
     ("triton", "class ModelNew:\n    def forward(self, x):\n        return _run(x, x.shape[0])", False)],
)  # fmt: skip
def test_a_kernel_of_one_size_that_fails_at_another_is_told_that(language, text, one):
    async def refused():
        judge = OverWorkloads(Inner(wrong=(64,)), POLICY, random.Random(0))
        task = await judge.admit(source((4096, {}), (64, {})), TASK.target)
        return await judge.evaluate(task, Candidate(language=language, source=text, entry="kernel"))

    told = reason_of(asyncio.run(refused()))
    assert told.startswith("at n=64: off")
    assert ("It is written for n=4096 alone" in told) == one


def test_a_search_meets_the_same_drawn_sizes_and_each_final_others():
    given = source((4096, {}))
    inner, finals = Inner(), Inner()
    _, found = judged(inner, given, times=2)
    _, again = judged(finals, given, "final", times=2)
    assert [r.point for r in found[0].workloads] == [r.point for r in found[1].workloads]
    assert [r.point for r in again[0].workloads] != [r.point for r in again[1].workloads]
    assert {effort for _, effort in finals.asked} == {"final", "replay"} and len(again[0].workloads) == 10


def test_a_drawn_size_that_the_reference_cannot_bear_is_left_out_and_named():
    _, (found,) = judged(Inner(unfit=range(2, 64)), source((64, {}), high=64))
    skipped = [row for row in found.workloads if row.skipped]
    assert skipped and found.outcome == "measured" and all(row.evaluation is None for row in skipped)
    assert f"{skipped[0].point.words}: no such size" in found.accuracy.dropped


def test_a_workload_that_cannot_be_admitted_refuses_the_task():
    with pytest.raises(TaskError, match="no such size"):
        judged(Inner(unfit=(8,)), source((64, {}), (8, {"weight": 0})))


def test_what_is_only_compiled_somewhere_is_compiled():
    class Away(Inner):
        async def evaluate(self, task, candidate, effort="search"):
            return Compiled(build=BUILD)

    _, (found,) = judged(Away(), source((64, {}), (8, {})))
    assert found.outcome == "compiled" and len(found.workloads) == 6


def test_examining_looks_closely_at_the_main_workload_and_names_the_others():
    judge = OverWorkloads(Inner(), POLICY)
    found = asyncio.run(judge.examine(source((64, {"weight": 2}), (8, {})), TASK.target))
    assert [(c.name, c.figure) for c in found.checks] == [("duration", "1 us"), ("workload", "n=8")]
    assert len(found.task.parts) == 2


def test_axes_are_macros_of_a_source_that_names_them_and_modules_stay_as_they_are():
    task, _ = judged(Inner(), source((64, {})))
    assert [(d.name, d.value) for d in at_axes(CANDIDATE, task.main).defines] == [("AXIS_N", 64)]
    for other in (Candidate(language="cpp", source="", entry="k"), Candidate(language="python", source="AXIS_N")):
        assert at_axes(other, task.main) is other


def test_what_all_timings_may_take_grows_with_the_root_of_their_number():
    task, _ = judged(Inner(), source(*((2**k, {}) for k in range(4))))
    assert tightened(POLICY, task.parts[0].source).search_seconds == POLICY.search_seconds / 2
    assert tightened(POLICY, TASK.source) is POLICY
