"""A training run's tasks are admitted with the first of their kernels, once, and a target that can judge none is told."""

import asyncio

import pytest

from kernelwright.errors import RefereeError, TaskError, UsageError
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_attempt, sample_evaluation, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.train.admission import PATIENCE, Admitting, admitted, assignments_of
from kernelwright.train.data.sample import INTERPRETED, Judged, sample
from kernelwright.train.judges import Judges
from kernelwright.train.recipe import Grpo
from kernelwright.train.session import judged_for, prepared

KERNEL = sample_attempt(0).proposal.candidate
HERE = Target(kind="cpu", arch="x86-64", present=True)


def interpreted(number):
    """A sample of which no referee has heard, made for a GPU that is not here."""
    task = sample_task()
    source = task.source.model_copy(update={"source": f"{task.source.source}\n# {number}\n"})
    elsewhere = Target(kind="cuda", arch="sm_90", present=False)
    known = Judged(outcome=INTERPRETED, how="", versions=())
    return sample("author", task.model_copy(update={"source": source, "target": elsewhere}), KERNEL, known)


class Admits(ScriptedEvaluator):
    """Admits whatever is not named, and finds every kernel right."""

    def __init__(self, *refused):
        super().__init__()
        self.refused, self.asked = refused, []

    async def admit(self, source, target):
        self.asked.append(source.source)
        if any(source.source.endswith(f"# {number}\n") for number in self.refused):
            raise TaskError("it is random", "random")
        return sample_task().model_copy(update={"source": source, "target": target})

    async def evaluate(self, task, candidate, effort="search"):
        assert task.target == HERE
        return sample_evaluation("verified")


def verdicts(evaluator, assignments, times=1):
    judges = Judges(lambda _: evaluator)
    gate = Admitting(judges, HERE, len(assignments))

    async def all_of_them():
        try:
            return await asyncio.gather(*(gate.judge(a.task, KERNEL) for a in assignments for _ in range(times)))
        finally:
            await judges.close()

    return asyncio.run(all_of_them())


def test_a_task_is_shown_before_it_is_admitted_and_admitted_once():
    evaluator = Admits()
    tasks = assignments_of([interpreted(n) for n in range(3)], HERE)
    assert [one.task.target for one in tasks] == [HERE] * 3
    assert evaluator.asked == []
    found = verdicts(evaluator, tasks, times=4)
    assert [one.outcome for one in found] == ["verified"] * 12
    assert evaluator.asked == [one.task.source.source for one in tasks]


def test_nothing_is_known_of_a_task_that_is_refused_and_others_go_on():
    found = verdicts(Admits(1), assignments_of([interpreted(n) for n in range(3)], HERE))
    assert [one and one.outcome for one in found] == ["verified", None, "verified"]


def test_the_same_task_is_shown_once():
    assert len(assignments_of([interpreted(0), interpreted(0)], HERE)) == 1


def test_for_a_measure_all_are_admitted_at_once_and_the_refused_left_out():
    evaluator = Admits(0)
    judges = Judges(lambda _: evaluator)
    found = asyncio.run(admitted([interpreted(n) for n in range(2)], HERE, judges))
    assert [one.task.source.source.endswith("# 1\n") for one in found] == [True]


def test_where_every_task_is_refused_the_reason_is_told():
    class Refusing(ScriptedEvaluator):
        async def admit(self, source, target):
            raise RefereeError("the candidate's process opened another GPU")

    few = assignments_of([interpreted(n) for n in range(2)], HERE)
    with pytest.raises(UsageError, match=r"none of 2 tasks can be judged on .* another GPU"):
        verdicts(Refusing(), few)
    many = assignments_of([interpreted(n) for n in range(PATIENCE + 4)], HERE)
    with pytest.raises(UsageError, match=rf"none of {PATIENCE} tasks|none of {PATIENCE + 4} tasks"):
        verdicts(Refusing(), many)


def test_a_recipe_without_a_task_says_so():
    with pytest.raises(UsageError, match="holds no task for the role 'midend'"):
        prepared(
            Grpo(data="pairs", model="m", role="midend", target="cpu"), [interpreted(0)], Judges(lambda _: Admits())
        )


def test_interpreted_kernels_are_judged_as_if_no_gpu_were_here():
    recipe = Grpo(data="pairs", model="m", effort="verify", target="sm_90", interpreted=True)
    assert judged_for(recipe).present is False
    for other in ({"effort": "search"}, {"target": "cpu"}):
        with pytest.raises(UsageError, match="set effort to verify, and target to a GPU"):
            judged_for(recipe.model_copy(update=other))
