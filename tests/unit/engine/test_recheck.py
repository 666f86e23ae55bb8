"""A run judged again: only where something changed, the best first, within a budget, and never twice."""

import asyncio
import json

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.recheck import SUMMARY, RecheckRequest, recheck
from kernelwright.engine.run import Parts, run
from kernelwright.errors import RefereeError, StoreError, TaskError
from kernelwright.records.receipt import Recheck
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card, sample_environment
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, scripted_suppliers


class Elsewhere(ScriptedEvaluator):
    """The same machine with other versions."""

    def __init__(self, versions=None, **scripted):
        super().__init__(outcomes=("measured",), **scripted)
        self.versions = versions

    async def environment(self, target=None):
        here = sample_environment()
        return here.model_copy(update={"versions": {**here.versions, **(self.versions or {})}})


@pytest.fixture
def folder(tmp_path):
    store = RunStore.create(tmp_path / "run", sample_card())
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    asyncio.run(run(store, RunConfig(), Parts(ScriptedProposer(), evaluator)))
    store.close()
    return tmp_path / "run"


def again(folder, evaluator, **request):
    events = []
    return recheck(RecheckRequest(folder, **request), scripted_suppliers(evaluator, listener=events.append))


NEW = {"torch": "9.9"}


def test_where_nothing_changed_nothing_is_judged(folder):
    evaluator = Elsewhere()
    found = again(folder, evaluator)
    assert (found.measured, found.rows, found.holds, found.left) == (False, (), True, 0)
    assert evaluator.calls == []


def test_force_judges_all_the_same(folder):
    evaluator = Elsewhere()
    found = again(folder, evaluator, force=True)
    assert [row.best for row in found.rows] == [True]
    assert found.holds
    assert len(evaluator.calls) == 1


def test_a_change_is_told_and_the_best_is_judged_again(folder):
    found = again(folder, Elsewhere(NEW))
    assert [(c.name, c.then, c.now) for c in found.changed] == [("torch", "absent", "9.9")]
    assert found.rows[0].comparison.changed == found.changed
    assert found.holds
    assert Recheck.model_validate_json((folder / SUMMARY).read_text()) == found


def test_what_does_not_hold_is_said(folder):
    found = again(folder, Elsewhere(NEW, refuted=range(100)))
    assert not found.holds
    assert found.rows[0].comparison.findings[0].now.startswith("incorrect")


def test_all_means_each_right_kernel_once_and_the_best_first(folder):
    evaluator = Elsewhere(NEW)
    found = again(folder, evaluator, every=True)
    candidates = [row.candidate for row in found.rows]
    assert len(candidates) == len(set(candidates)) > 2
    assert evaluator.calls == candidates
    assert [row.best for row in found.rows] == [True] + [False] * (len(candidates) - 1)


def test_a_budget_leaves_the_rest_for_the_next_time(folder):
    evaluator = Elsewhere(NEW, delay_s=0.05)
    every = len(again(folder, Elsewhere(NEW), every=True).rows)
    first = again(folder, evaluator, every=True, budget_s=0.01)
    assert 0 < len(first.rows) < every
    assert first.left == every - len(first.rows)
    second = again(folder, evaluator, every=True)
    assert second.left == 0
    assert len(evaluator.calls) == every, "no row is judged twice"
    assert again(folder, evaluator, every=True).left == 0
    assert len(evaluator.calls) == 2 * every, "a finished pass begins anew"


class Breaks(Elsewhere):
    """Its referee breaks at the third kernel."""

    async def evaluate(self, task, candidate, effort="search"):
        if len(self.calls) == 2:
            raise RefereeError("broken: this is a test")
        return await super().evaluate(task, candidate, effort)


def test_a_broken_referee_keeps_what_was_judged(folder):
    evaluator = Breaks(NEW)
    with pytest.raises(RefereeError):
        again(folder, evaluator, every=True)
    after = Elsewhere(NEW)
    rows = again(folder, after, every=True).rows
    assert len(after.calls) == len(rows) - 2


def test_rows_of_other_circumstances_are_not_taken_for_today_s(folder):
    with pytest.raises(RefereeError):
        again(folder, Breaks(NEW), every=True)
    evaluator = Elsewhere({"torch": "10"})
    rows = again(folder, evaluator, every=True).rows
    assert len(evaluator.calls) == len(rows)


class Refuses(Elsewhere):
    """Admits nothing any more."""

    async def admit(self, source, target):
        raise TaskError("it raises now")


def test_a_task_that_is_not_admitted_any_more_does_not_hold(folder):
    found = again(folder, Refuses(NEW))
    assert not found.holds
    assert found.rows[0].comparison.findings[0].now == "it raises now"


def test_a_run_without_a_right_kernel_has_nothing_to_judge(tmp_path):
    store = RunStore.create(tmp_path / "none", sample_card())
    asyncio.run(run(store, RunConfig(), Parts(ScriptedProposer(), ScriptedEvaluator(outcomes=("incorrect",)))))
    store.close()
    with pytest.raises(StoreError, match="nothing right"):
        again(tmp_path / "none", Elsewhere())


def test_a_full_disk_leaves_the_summary_of_the_pass_before(folder, full_disk):
    again(folder, Elsewhere(NEW))
    before = (folder / SUMMARY).read_bytes()
    full_disk()
    with pytest.raises(StoreError, match="No space left"):
        again(folder, Elsewhere({"torch": "10"}))
    assert (folder / SUMMARY).read_bytes() == before


def test_the_run_itself_is_not_touched(folder):
    before = (folder / "run.sqlite").read_bytes()
    again(folder, Elsewhere(NEW), every=True)
    assert (folder / "run.sqlite").read_bytes() == before
    assert json.loads((folder / SUMMARY).read_text())["holds"] is True
