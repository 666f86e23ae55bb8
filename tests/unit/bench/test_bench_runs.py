"""A whole bench with scripted parts: what is run, what is done again, what stands in the files."""

import asyncio
import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from rich.console import Console

from kernelwright import api
from kernelwright.bench import words
from kernelwright.bench.compare import FAILURES
from kernelwright.bench.records import DRILL_LABEL, Cell, Comparison, Failure
from kernelwright.errors import MachineError, ModelError, ProposeError, RefereeError, StoreError, UsageError
from kernelwright.store.files import open_lines
from kernelwright.store.run import RunStore
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, scripted_suppliers


class Admitting(ScriptedEvaluator):
    """Counts admissions; can be on another machine."""

    versions = "3.11"
    admitted = ()

    async def admit(self, source, target):
        self.admitted = (*self.admitted, source.name)
        return await super().admit(source, target)

    async def environment(self, target=None):
        found = await super().environment(target)
        return found.model_copy(update={"versions": {"python": self.versions}})


class Drilled(ScriptedProposer):
    """Writes as a model that calls itself a drill."""

    async def propose(self, brief):
        return [p.model_copy(update={"model": "drill-40"}) for p in await super().propose(brief)]


@pytest.fixture
def bench(tasks, tmp_path):
    """Runs a bench in one folder; returns its result, and keeps the news and the evaluator."""

    def run(proposer=None, evaluator=None, on_news=None, **more):
        fields = {"strategies": ("best_of_n", "tritongym"), "target": "cpu", **more}
        config = api.load_config(None, {"budget": {"proposals": 4}, **fields.pop("settings", {})})
        run.evaluator = evaluator or Admitting(outcomes=("measured", "measured", "incorrect"))
        run.news = []

        def heard(news):
            run.news.append(news)
            if on_news is not None:
                on_news(news)

        request = api.BenchRequest(tasks, tmp_path / "bench", config=config, **fields)
        return api.bench(request, scripted_suppliers(run.evaluator, proposer), heard)

    return run


def begun(run):
    return [news.cell.name for news in run.news if isinstance(news, api.CellBegins)]


def status(result):
    return {cell.cell.name: cell.status for cell in result.comparison.cells}


def test_every_cell_is_a_row_and_a_task_is_admitted_once(bench, tmp_path):
    result = bench(seeds=(0, 1))
    assert len(result.comparison.cells) == 3 * 2 * 2
    assert sorted(bench.evaluator.admitted) == ["a", "b", "c"]
    assert bench.evaluator.closed
    folder = tmp_path / "bench" / "cells" / "a" / "best_of_n-author-tritongym-s1"
    assert (folder / "run.sqlite").exists() and (folder / "report.html").exists()
    assert RunStore.open(folder).card.config["seed"] == 1
    assert RunStore.open(folder).card.config["cache"] is False


def test_a_task_that_is_not_admitted_is_a_row_with_its_reason(bench):
    result = bench()
    lost = [cell for cell in result.comparison.cells if cell.cell.task == "c"]
    assert {cell.status for cell in lost} == {"not_admitted"}
    assert all("raises when it is run" in cell.reason for cell in lost)
    assert (result.comparison.arms[0].figures.cells, result.comparison.arms[0].figures.missing) == (3, 0)
    assert "not admitted, and so not solved: 1 task" in result.comparison.labels
    assert result.exit_code == 1


def test_published_figures_are_the_finals_and_curves_the_search_s(bench):
    result = bench()
    cell = next(c for c in result.comparison.cells if c.correct)
    store = RunStore.open(result.json.parent / cell.folder)
    final = store.outcome().final.evaluation
    assert final.timing.final
    assert cell.eager == final.timing.against("eager").speedup
    assert [step.device_s for step in cell.steps] == sorted(step.device_s for step in cell.steps)
    assert cell.device_s == pytest.approx(sum(a.cost.device_s for a in store.attempts()))
    assert cell.tokens == 10 * len(cell.steps)


def test_the_json_is_the_comparison(bench):
    result = bench()
    assert Comparison.model_validate_json(result.json.read_text()) == result.comparison
    told = json.loads(result.json.read_text())
    assert (told["kind"], told["version"]) == ("kernelwright.bench", 2)
    assert told["environment"]["device"] == "Scripted CPU, 2 cores"
    assert told["environment"]["commit"]


def test_a_bench_that_is_complete_runs_nothing_again(bench):
    first = bench()
    again = bench()
    assert begun(bench) == []
    assert bench.evaluator.calls == []
    assert again.comparison.cells == first.comparison.cells
    assert again.comparison.arms == first.comparison.arms


def test_an_interrupted_bench_goes_on_where_it_was(bench):
    def stop(news):
        if isinstance(news, api.CellBegins) and news.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench(on_news=stop)
    done = bench()
    assert len(begun(bench)) == 4
    assert status(done)["a/tritongym-author-tritongym-s0"] == "done"
    assert done.comparison.cells == bench().comparison.cells


def test_an_interrupted_cell_ends_the_bench_with_what_is_there(bench, tmp_path):
    class Interrupted(ScriptedProposer):
        async def propose(self, brief):
            if brief.task.name == "b":
                raise asyncio.CancelledError
            return await super().propose(brief)

    result = bench(Interrupted())
    assert result.interrupted and result.exit_code == 130
    assert status(result)["a/best_of_n-author-tritongym-s0"] == "done"
    assert status(result)["b/best_of_n-author-tritongym-s0"] == "pending"
    assert "2 of 6 cells ended" in result.comparison.labels
    assert {row.figures.cells for row in result.comparison.arms} == {1}
    assert {row.figures.cells for row in bench().comparison.arms} == {3}


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ProposeError("no aten.foo"), "gave_up"),
        (ModelError("no answer"), "no_answer"),
        (RefereeError("broke"), "broken"),
    ],
)
def test_a_cell_that_fails_is_a_row_and_does_not_stop_the_others(bench, error, word):
    result = bench(ScriptedProposer(error=error))
    assert len(begun(bench)) == 6
    found = {c.cell.task: c for c in result.comparison.cells}
    assert found["a"].status == word
    assert str(error) in found["a"].reason


def test_what_broke_is_tried_again_and_what_cannot_be_written_only_on_demand(bench):
    bench(ScriptedProposer(error=ModelError("no answer")))
    assert {"a", "b"} == {cell.split("/")[0] for cell in begun_again(bench)}
    bench(ScriptedProposer(error=ProposeError("no aten.foo")), strategies=("best_of_n", "tritongym"))
    assert begun(bench) == []


def begun_again(bench):
    bench()
    return begun(bench)


def test_retry_tries_also_what_was_not_admitted(bench, tasks):
    bench()
    bench(retry=True)
    assert begun(bench) == ["c/best_of_n-author-tritongym-s0", "c/tritongym-author-tritongym-s0"]


def test_a_referee_that_broke_is_replaced(bench, tmp_path):
    opened = []

    def fresh(policy, place, note):
        opened.append(Admitting(outcomes=("measured",), breaks=2 if not opened else 0))
        return opened[-1]

    suppliers = replace(scripted_suppliers(), evaluator=fresh)
    config = api.load_config(None, {"budget": {"proposals": 2}, "in_flight": 1})
    tasks = tmp_path / "tasks"
    result = api.bench(api.BenchRequest(tasks, tmp_path / "b", ("best_of_n",), target="cpu", config=config), suppliers)
    assert [cell.status for cell in result.comparison.cells] == ["broken", "done", "not_admitted"]
    assert len(opened) == 2 and all(one.closed for one in opened)


def test_another_plan_in_the_same_folder_is_refused(bench):
    bench()
    with pytest.raises(UsageError, match="seeds was 0, is 0, 1"):
        bench(seeds=(0, 1))


def test_another_machine_is_refused(bench):
    bench(ScriptedProposer(error=ModelError("no answer")))
    other = Admitting(outcomes=("measured",))
    other.versions = "3.12"
    with pytest.raises(MachineError, match=r"python was 3\.11, is 3\.12"):
        bench(evaluator=other)


def test_two_commands_do_not_work_in_one_folder(bench, tmp_path):
    (tmp_path / "bench").mkdir()
    with open_lines(Failure, tmp_path / "bench" / FAILURES), pytest.raises(StoreError, match="another process"):
        bench()


def test_a_journal_that_cannot_be_read_is_a_row(bench, tmp_path):
    bench()
    broken = tmp_path / "bench" / "cells" / "a" / "best_of_n-author-tritongym-s0" / "run.sqlite"
    broken.write_bytes(b"no database at all" * 400)
    result = bench()
    found = {cell.cell.name: cell for cell in result.comparison.cells}["a/best_of_n-author-tritongym-s0"]
    assert found.status == "broken" and "corrupt" in found.reason


def test_rewards_and_variants_are_factors(bench):
    learned = {"predictor": {}}
    result = bench(rewards=("tritongym", "log_speedup"), proposers=("author", "other:terse"), settings=learned)
    levels = {(one.factor, one.level) for one in result.comparison.factors}
    assert {
        ("reward", "log_speedup"),
        ("variant", "terse"),
        ("proposer", "author"),
        ("strategy", "best_of_n"),
    } <= levels
    pooled = next(one for one in result.comparison.factors if one.level == "log_speedup")
    assert pooled.figures.cells == 3 * 2 * 2


def test_rewards_of_their_own_are_no_factor(bench):
    result = bench(strategies=("regraph", "tritongym"))
    assert "reward" not in {one.factor for one in result.comparison.factors}


def test_a_row_a_cell_and_the_charts_as_files(bench, tmp_path):
    result = bench()
    rows = list(csv.DictReader((tmp_path / "bench" / "bench.csv").read_text().splitlines()))
    assert [(r["task"], r["strategy"], r["seed"]) for r in rows] == [
        (c.cell.task, c.cell.arm.strategy, str(c.cell.seed)) for c in result.comparison.cells
    ]
    done = next(r for r, c in zip(rows, result.comparison.cells, strict=True) if c.eager)
    assert float(done["eager_low"]) <= float(done["eager"]) <= float(done["eager_high"])
    drawn = sorted(file.name for file in (tmp_path / "bench" / "figures").iterdir())
    assert {"speedup.svg", "curve-proposals.svg"} <= set(drawn)
    assert all(ElementTree.parse(tmp_path / "bench" / "figures" / name).getroot().tag.endswith("svg") for name in drawn)


def test_a_hostile_reason_is_no_formula(bench):
    cell = bench().comparison.cells[0].model_copy(update={"reason": "=HYPERLINK(1)\nnext"})
    comparison = bench().comparison.model_copy(update={"cells": (cell,)})
    assert next(csv.DictReader(words.csv_table(comparison).splitlines()))["reason"].startswith("'=HYPERLINK(1)")


def test_only_the_independent_strategy_has_a_pass_at_k(bench):
    rows = {row.arm.strategy: row.figures for row in bench().comparison.arms}
    assert rows["best_of_n"].pass_at and not rows["tritongym"].pass_at
    assert rows["tritongym"].solved_at


def test_a_drill_is_labelled_wherever_a_figure_is_shown(bench):
    result = bench(Drilled())
    assert result.comparison.labels[0] == DRILL_LABEL
    assert result.comparison.arms[0].figures.drill
    assert "drill, not a model&#39;s result" in result.page.read_text()
    assert bench_text(result).count("drill") >= 2


def test_who_is_no_drill_is_not_labelled(bench):
    result = bench()
    assert DRILL_LABEL not in result.comparison.labels
    assert "drill" not in result.page.read_text()


def bench_text(result):
    console = Console(width=200, file=io.StringIO())
    console.print(result.shown)
    return console.file.getvalue()


def test_naive_kernels_are_judged_once_and_stand_beside(bench, tmp_path):
    naive = tmp_path / "naive"
    naive.mkdir()
    (naive / "a.cpp").write_text('extern "C" void f(const float* x, float* y) {} // quality 0\n')
    (naive / "b.cpp").write_text("no kernel\n")
    result = bench(naive=naive)
    found = {one.task: one for one in result.comparison.naive}
    assert found["a"].eager.median == 1.0
    assert found["b"].outcome == "refused"
    over = [s for s in result.comparison.arms[0].figures.speedups if s.baseline == "naive" and s.over == "solved"]
    assert over[0].mean.tasks == 1
    bench(naive=naive)
    assert bench.evaluator.calls == []


def test_a_claim_stands_beside_our_own_ratio_only_where_the_kernel_is_the_same(bench, tmp_path, tasks):
    (tasks / "a.py").rename(tasks / "dot_product.py")
    naive = tmp_path / "naive"
    naive.mkdir()
    (naive / "dot_product.cpp").write_text('extern "C" void f(const float* x, float* y) {} // quality 0\n')
    claims = {claim.what: claim for claim in bench(naive=naive).comparison.claims}
    assert claims["dot product"].ours[0].startswith("dot_product ")
    assert claims["matrix transpose"].ours == ()
    assert claims["dot product"].device == "RTX 3090 Ti"


def test_failures_are_kept_line_by_line(bench, tmp_path):
    bench()
    lines = (tmp_path / "bench" / FAILURES).read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["not_admitted", "not_admitted"]
    assert Cell.model_validate(json.loads(lines[0])["cell"]).task == "c"


def test_eta_comes_from_the_cells_so_far(bench):
    bench()
    left = [news.left_s for news in bench.news if isinstance(news, api.CellBegins)]
    assert left[0] is None
    assert all(estimate > 0 for estimate in left[1:])


@pytest.fixture
def experts(tasks):
    (tasks / "oracles").mkdir()
    (tasks / "oracles" / "a.cpp").write_text('extern "C" void f(const float* x, float* y) {} // quality 0\n')
    (tasks / "oracles" / "b.py").write_text("import triton\n\n\nclass ModelNew: ...\n")
    return tasks


def test_the_oracle_beside_a_task_is_judged_in_the_same_bench(bench, experts, tmp_path):
    result = bench()
    assert [(one.task, one.eager.median) for one in result.comparison.oracles] == [("a", 1.0)]
    for row in result.comparison.arms:
        assert row.figures.perf.tasks == 1
        assert row.figures.perf_at
    rows = list(csv.DictReader((tmp_path / "bench" / "perf.csv").read_text().splitlines()))
    named = {row["figure"] for row in rows}
    assert {"Pass@1", "Perf@1", "Perf", "device_s a pass", "tokens a pass", "usd a pass"} <= named
    assert "Perf@1" in bench_text(result)
    bench()
    assert bench.evaluator.calls == []


def test_a_bench_without_oracles_says_nothing_of_perf(bench, tmp_path):
    result = bench()
    assert not result.comparison.oracles
    assert words.perf_rows(result.comparison)[-4][1:] == ("Perf", None)
    assert not (tmp_path / "bench" / "perf.csv").exists()
