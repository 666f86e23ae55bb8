"""The mix is what it says: exact shares, half and half, no text twice, the same for a seed; and no row is lost on the way."""

import ast
import asyncio
import importlib
import json
from argparse import Namespace
from collections import Counter
from pathlib import Path

import pytest

from kernelwright.records.evaluation import Incorrect
from kernelwright.testing.samples import sample_evaluation, sample_measured, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator

BENCH = Path(__file__).parents[3] / "benchmarks"
NAMES = {"right": "measured", "wrong": "incorrect", "unbuilt": "build_failed", "crashing": "crashed"}


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the bench by its name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def mixture(bench):
    return bench("mixture.deal")


@pytest.fixture
def dealt(bench, mixture):
    return mixture.deal(mixture.shared_out(500, mixture.SHARES), bench("mixture.tasks").MIX, 1)


def test_the_shares_are_exact(dealt):
    kinds = Counter(each.kind for each in dealt)
    assert kinds == {"right": 300, "wrong": 75, "unbuilt": 50, "crashing": 50, "hanging": 25}
    assert Counter(each.style for each in dealt) == {"triton": 250, "cuda": 250}
    by_both = Counter((each.kind, each.style) for each in dealt)
    assert all(abs(by_both[kind, "triton"] - by_both[kind, "cuda"]) <= 1 for kind in kinds)


def test_other_counts_are_shared_out_as_well_as_they_can(mixture):
    assert mixture.shared_out(20, mixture.SHARES) == {
        "right": 12,
        "wrong": 3,
        "unbuilt": 2,
        "crashing": 2,
        "hanging": 1,
    }
    assert sum(mixture.shared_out(7, mixture.SHARES).values()) == 7


def test_no_text_is_met_twice_and_each_is_in_its_language(dealt):
    assert len({each.candidate.source for each in dealt}) == len(dealt)
    assert len({each.candidate.id for each in dealt}) == len(dealt)
    assert all(each.candidate.language == each.style for each in dealt)
    assert all((each.candidate.recipe is not None) == (each.style == "cuda") for each in dealt)


def test_a_seed_deals_the_same_and_another_one_no_text_of_it(bench, mixture, dealt):
    def again(seed):
        return mixture.deal(mixture.shared_out(500, mixture.SHARES), bench("mixture.tasks").MIX, seed)

    assert again(1) == dealt
    assert not {each.candidate.source for each in again(2)} & {each.candidate.source for each in dealt}


def test_sizes_go_from_a_megabyte_to_a_gigabyte_and_most_are_between(dealt):
    sizes = [each.task.nbytes / 2**20 for each in dealt]
    assert min(sizes) == pytest.approx(1, rel=0.01)
    assert max(sizes) == pytest.approx(1024, rel=0.01)
    assert sum(3.9 < size < 260 for size in sizes) == 450


def test_every_way_is_met_and_none_where_it_does_not_fit(bench, dealt):
    ways = bench("mixture.ways").WAYS
    met = {(each.kind, each.style, each.way.name) for each in dealt}
    kinds = {each.kind for each in dealt}
    assert met == {(kind, style, way.name) for kind in kinds for style in ways[kind] for way in ways[kind][style]}
    assert not any(each.task.family in each.way.not_for for each in dealt)


def test_only_what_must_not_be_python_is_none(dealt):
    for each in dealt:
        if each.style == "triton" and each.way.name != "syntax":
            ast.parse(each.candidate.source)
        assert "$" not in each.candidate.source.replace("$0", "").replace("$1", "")


def test_the_tasks_are_tasks(bench):
    for task in (*bench("mixture.tasks").MIX, *bench("mixture.tasks").SMALL):
        names = {node.name for node in ast.parse(task.source().source).body if hasattr(node, "name")}
        assert names == {"Model", "get_inputs", "get_init_inputs"}


def test_a_wrong_kernel_must_be_wrong_for_its_own_reason(dealt):
    clamped = next(each for each in dealt if each.way.name == "clamps inputs")
    guarded = next(each for each in dealt if each.way.name == "writes behind")
    found = sample_evaluation("incorrect")
    assert isinstance(found, Incorrect)
    assert clamped.as_expected(found)
    assert not guarded.as_expected(found)
    assert guarded.as_expected(found.model_copy(update={"because": "guard"}))
    assert not clamped.as_expected(sample_measured())


class Knowing(ScriptedEvaluator):
    """Finds what was dealt, or breaks for one number."""

    def __init__(self, dealt, broken=()):
        super().__init__()
        self.kinds = {each.candidate.id: (each.number, each.kind) for each in dealt}
        self.broken = broken

    async def evaluate(self, task, candidate, effort="search"):
        number, kind = self.kinds[candidate.id]
        if number in self.broken:
            self.breaks = 1
            return await super().evaluate(task, candidate, effort)
        await asyncio.sleep(0)
        return sample_evaluation(NAMES.get(kind, "timed_out"))


@pytest.fixture
def small(bench, mixture):
    every = mixture.deal({"right": 10, "unbuilt": 4, "crashing": 4, "hanging": 2}, bench("mixture.tasks").MIX, 3)
    return every, {each.task.name: sample_task(name=each.task.name) for each in every}


@pytest.fixture
def judge_all(bench, tmp_path):
    """Judges into one file as a call of the program does, with this seed; the document."""
    mix, file = bench("mix"), tmp_path / "out.json"

    def call(evaluator, tasks, dealt, seed=3, seconds=60.0):
        asked = Namespace(out=file, seconds=seconds, join=[], anew=False)
        campaign = bench("campaign").Campaign(asked, ("number",), same=("count", "seed"), summary=mix.summary)
        campaign.begin({"device": "none", "count": len(tasks), "seed": seed})
        asyncio.run(mix.judge_all(campaign, evaluator, tasks, dealt))
        return json.loads(file.read_text()) if file.exists() else {"rows": []}

    return call


def test_every_candidate_gets_its_row_and_a_lost_one_is_told(small, judge_all):
    dealt, tasks = small
    written = judge_all(Knowing(dealt, broken=(5,)), tasks, dealt)
    assert sorted(row["number"] for row in written["rows"]) == list(range(len(dealt)))
    assert written["summary"]["lost"] == [5]
    assert written["summary"]["misjudged"] == []
    assert written["summary"]["per_minute"] > 0
    assert written["summary"]["stages_s"]["compile"] > 0
    assert written["summary"]["kinds"]["unbuilt"]["outcomes"] == {"build_failed": 4}


def test_a_run_that_was_cut_goes_on(small, judge_all):
    dealt, tasks = small
    for part in (dealt[:8], dealt):
        written = judge_all(Knowing(dealt), tasks, part)
    assert [sum(row["call"] == call for row in written["rows"]) for call in (0, 1)] == [8, len(dealt) - 8]
    spent = [max(row["call_s"] for row in written["rows"] if row["call"] == call) for call in (0, 1)]
    assert written["summary"]["wall_s"] == pytest.approx(sum(spent))
    with pytest.raises(SystemExit):
        judge_all(Knowing(dealt), tasks, dealt, seed=4)


def test_a_task_is_known_after_a_right_kernel_of_each_style(bench):
    evaluator = ScriptedEvaluator(outcomes=["measured"])
    sized = bench("mixture.tasks").SMALL[0]
    task = asyncio.run(bench("mixture.judge").admitted(evaluator, sized, sample_task().target))
    assert task.source == sized.source()
    assert len(set(evaluator.calls)) == 2


def test_a_slot_takes_lines_at_its_indentation_or_none(bench):
    filled = bench("mixture.text").filled
    assert filled("if x:\n    $body\n    $none\n    f($x, ${x}s)\n", {"body": "a $0\nb", "none": "", "x": "q"}) == (
        "if x:\n    a $0\n    b\n    f(q, qs)\n"
    )
    with pytest.raises(KeyError):
        filled("$unknown\n", {})


def test_nothing_is_begun_after_the_time_is_over(small, judge_all):
    dealt, tasks = small
    assert not judge_all(Knowing(dealt), tasks, dealt, seconds=-1.0)["rows"]


def test_what_is_misjudged_is_told_with_its_source(small, judge_all):
    dealt, tasks = small
    written = judge_all(ScriptedEvaluator(outcomes=["compiled"]), tasks, dealt)
    assert written["summary"]["misjudged"] == list(range(len(dealt)))
    assert all(row["source"] == dealt[row["number"]].candidate.source for row in written["rows"])


def test_the_drill_has_its_faults_and_compares_verdict_by_verdict(bench, mixture):
    faults, tasks = bench("faults"), bench("mixture.tasks").SMALL
    others, poisonous = mixture.deal(faults.OTHERS, tasks, 1), mixture.deal(faults.FAULTS, tasks, 2)
    assert (len(others), len(poisonous)) == (160, 40)
    assert len({each.candidate.id for each in (*others, *poisonous)}) == 200
    assert {each.candidate.language for each in poisonous} == {"triton", "cuda", "cuda_host"}

    def row(number, kind="right", **more):
        return {"number": number, "kind": kind, "style": "cuda", "way": "way", "as_expected": True, **more}

    timed = {"outcome": "measured", "latency_us": 10.0, "verdicts": {"eager": "faster"}}
    wrong = {"outcome": "incorrect", "because": "value", "case": "times 3"}
    alone = [row(0, **timed), row(1, **timed), row(2, **wrong), row(3, **wrong)]
    fault = row(0, "poisonous", outcome="crashed")
    among = [row(0, **timed), row(1, **{**timed, "latency_us": 20.0}), row(2, **wrong), fault]
    found = faults.compared(alone, among)
    assert [change["number"] for change in found["changed"]] == [3], "it has no verdict any more"
    assert found["beyond_bound"] == [1]
    assert (found["others"], found["faults"], found["verdict_flips"]) == (4, 1, [])
    assert found["latency_ratios"] == {"count": 2, "min": 1.0, "median": 1.5, "max": 2.0}
