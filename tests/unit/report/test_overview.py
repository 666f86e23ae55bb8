"""The page over several runs: what is compared with what, who is the best, and what it says of the others."""

import io
import re
from xml.etree import ElementTree

import pytest
from rich.console import Console

import fake_runs as fake
from kernelwright.records.measure import Ratio
from kernelwright.report import html
from kernelwright.report.overview import StoredRun, by_task, figures, present, render


def stored(name, eager=3.1, compiled=1.01, source="", ended=True, unroll=0):
    found = fake.attempt(unroll, fake.measured(eager, compiled))
    card = fake.card().model_copy(update={"id": f"20261122-133900-mse_loss-{name}"})
    if source:
        written = card.task.source.model_copy(update={"source": source, "name": source})
        card = card.model_copy(update={"task": card.task.model_copy(update={"source": written})})
    outcome = fake.ended(found, eager, compiled) if ended else None
    return StoredRun(f"runs/{name}", card, [found], outcome, f"runs/{name}/report.html")


def blurred(run):
    """The same run with an interval that says more of the machine than of the kernel."""
    final = run.outcome.final
    wide = [
        v.model_copy(update={"speedup": Ratio(median=9.0, low=5.0, high=12.0, confidence=0.99)})
        for v in final.evaluation.timing.versus
    ]
    timing = final.evaluation.timing.model_copy(update={"versus": tuple(wide)})
    final = final.model_copy(update={"evaluation": final.evaluation.model_copy(update={"timing": timing})})
    return StoredRun(run.folder, run.card, run.attempts, run.outcome.model_copy(update={"final": final}))


RUNS = [stored("a", 0.9), stored("b", 2.4, 1.2, unroll=3), stored("c", 4.4, ended=False), stored("d", 3.1)]
RUNS.append(stored("e", 2, source="other"))


def text(page):
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S)).split())


def names(group):
    return [entry.run.folder for entry in group.entries]


def test_only_finals_of_one_task_on_one_device_are_compared():
    here, other = by_task(RUNS)
    assert names(here) == ["runs/d", "runs/b", "runs/a", "runs/c"]
    assert names(other) == ["runs/e"]
    assert here.best.run.folder == "runs/d"
    elsewhere = stored("f", 99)
    device = elsewhere.card.environment.device.model_copy(update={"name": "Another CPU"})
    card = elsewhere.card.model_copy(
        update={"environment": elsewhere.card.environment.model_copy(update={"device": device})}
    )
    moved = StoredRun(elsewhere.folder, card, elsewhere.attempts, elsewhere.outcome)
    assert len(by_task([*RUNS, moved])) == 3


def test_an_interval_that_is_too_wide_is_no_figure():
    (group,) = by_task([blurred(stored("wide", 9)), stored("narrow", 1.5)])
    assert group.best.run.folder == "runs/narrow"
    assert "9.00×" not in text(render([blurred(stored("wide", 9)), stored("narrow", 1.5)], {}, "runs"))


def verified(name, target):
    run = stored(name, source=target)
    found = next(a for a in fake.one_of_each() if a.evaluation.outcome == "verified").model_copy(update={"number": 0})
    return StoredRun(run.folder, run.card, [found], fake.Outcome(best=0, stopped="done"))


def test_what_was_never_timed_is_in_no_denominator_and_an_uncertain_factor_is_a_win():
    page = text(render([blurred(stored("wide", 9)), verified("absent", "other")], {}, "runs"))
    assert "1 of 1 task faster than eager PyTorch; 1 not timed" in page
    assert "faster, by how much is uncertain (5.00 to 12.0)" in page
    assert "1 not timed" in text(render([verified("absent", "other")], {}, "runs"))
    assert "0 of" not in text(render([verified("absent", "other")], {}, "runs"))


def test_the_table_and_the_two_best_kernels():
    page = render(RUNS, {}, "runs")
    told = text(page)
    assert "2 of 2 tasks faster than eager PyTorch" in told
    assert "1. 20261122-133900-mse_loss-d best" in told
    assert "3.10× (3.01 to 3.19), faster" in told
    assert "Best so far: 4.40×" in told, "a run that has not ended keeps its row, without a figure"
    assert 'href="d/report.html"' in page
    assert page.count('<pre class="src"') == 2
    assert "#define UNROLL 5" in told and "#define UNROLL 2" in told
    assert '<span class="d add">+#define UNROLL 2</span>' in page


def test_the_same_kernel_twice_is_not_compared_with_itself():
    (group,) = by_task([stored("a", 2), stored("b", 3)])
    assert group.pair is None


def test_a_run_that_cannot_be_read_is_named_and_hides_no_other():
    told = text(render(RUNS[:1], {"runs/broken": "its journal is corrupt"}, "runs"))
    assert "Not read runs/broken: its journal is corrupt" in told
    assert "20261122-133900-mse_loss-a" in told


def test_hostile_names_are_text():
    page = render([stored(fake.HOSTILE, source=fake.NASTY)], {fake.HOSTILE: fake.NASTY}, "runs")
    assert page.count("<script") == 1 and "<img" not in page


def test_the_terminal_has_the_same_figures_in_80_columns():
    console = Console(file=io.StringIO(), width=80)
    console.print(present(RUNS))
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    (named,) = [line for line in lines if line.endswith("  runs/d")]
    (row,) = [line for line in lines if line.startswith(named.removesuffix("  runs/d")) and line != named]
    assert "3.10× (3.01 to 3.19)" in row and "1.01× (0.98 to 1.04)" in row


def test_a_folder_s_name_is_not_broken_in_the_terminal():
    folder = "20261128-204637-a-task-with-a-name-that-is-long-and-goes-on-beyond-the-edge-of-a-terminal-09fb"
    console = Console(file=io.StringIO(), width=80, soft_wrap=True)
    console.print(present([stored(folder), stored("b")]))
    assert f"runs/{folder}" in console.file.getvalue()


@pytest.mark.parametrize(
    ("charts", "wanted"),
    [
        (
            html.figures(fake.card(), RUNS[3].attempts, RUNS[3].outcome),
            ["errors", "progress", "roofline", "samples", "speedup-compile", "speedup-eager"],
        ),
        (html.figures(fake.card(), fake.one_of_each()[:2], None), ["progress"]),
        (figures(RUNS), ["1-mse_loss-compile", "1-mse_loss-eager", "2-other-compile", "2-other-eager"]),
    ],
)
def test_charts_are_files_that_stand_alone(charts, wanted):
    assert sorted(charts) == [f"{name}.svg" for name in wanted]
    for chart in charts.values():
        root = ElementTree.fromstring(chart)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("viewBox").split()[2:] == [root.get("width"), root.get("height")]
        assert root.get("aria-label")
        assert "--measured: #0b6fc2" in root[0].text and "url(" not in chart
