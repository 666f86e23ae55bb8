"""The page of a bench in a real browser, without network, at desktop and phone width. No Chromium is a failure."""

import random

import pytest

from kernelwright.bench.page import render
from kernelwright.bench.records import Arm, BenchPlan, CellResult, LeftOut, Naive, PlannedTask, TraceStep
from kernelwright.bench.summary import summarize_bench
from kernelwright.engine.config import RunConfig
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_environment, sample_ratio

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
HOSTILE = (
    "</dd><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[31m\u202e{{ 7*7 }}"
)
STRATEGIES = ("direct", "fsr", "cudaforge", "tritongym", "frontend_midend", "best_of_n")


def result(cell, rng, drill):
    """A cell that solved its task in most cases, faster with each attempt."""
    steps, best = [], 0.0
    for number in range(12):
        right = rng.random() < 0.5
        best = max(best, rng.uniform(0.6, 1.5) * (1 + number / 5)) if right else best
        ratio = sample_ratio(best) if right else None
        steps.append(TraceStep(outcome="measured" if right else "incorrect", right=right, eager=ratio, compile=ratio,
                          device_s=3.0 * (number + 1), tokens=900 * (number + 1), usd=0.0))  # fmt: skip
    final = sample_ratio(best) if best else None
    first = next((n for n, step in enumerate(steps, 1) if step.right), None)
    return CellResult(
        cell=cell, status="done", correct=best > 0, eager=final, compile=final, steps=tuple(steps), first_right=first,
        device_s=36.0, tokens=10800, unpriced=True, drill=drill, models=("drill-40",) if drill else (),
    )  # fmt: skip


def comparison(strategies=STRATEGIES, tasks=9, *, proposers=("author",), drill=True, hostile=False):
    """A whole bench that never ran."""
    rng = random.Random(1)
    names = tuple(f"task_{number}" for number in range(tasks)) + ((HOSTILE,) if hostile else ())
    plan = BenchPlan(
        tasks=tuple(PlannedTask(name=name, file="x.py", source="0" * 16) for name in names),
        arms=tuple(Arm(strategy=s, proposer=p, reward="tritongym") for s in strategies for p in proposers),
        seeds=(0, 1),
        target=Target(kind="cpu", arch="native", present=True),
        config=RunConfig(cache=False).model_dump(mode="json", exclude={"seed", "proposer", "reward"}),
        suite=HOSTILE if hostile else "tasks of a test",
        precision="as written",
        left_out=(LeftOut(name="left", reason=HOSTILE),) if hostile else (),
    )
    cells = [result(cell, rng, drill) for cell in plan.cells()]
    if hostile:
        lost = {"status": "broken", "reason": HOSTILE, "correct": False, "eager": None, "compile": None}
        cells[0] = cells[0].model_copy(update=lost)
    naive = [Naive(task="task_0", key="k", file="f.cpp", outcome="measured", eager=sample_ratio(0.4))]
    return summarize_bench("b", plan, cells, (naive, []), sample_environment())


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    made = {
        "six": comparison(),
        "one": comparison(("fsr",), 1, drill=False),
        "many": comparison(proposers=("author", "llm", "llm:terse")),
        "hostile": comparison(hostile=True),
    }
    where = tmp_path_factory.mktemp("benches")
    for name, found in made.items():
        (where / f"{name}.html").write_text(render(found), "utf-8")
    return where


def opened(browser, url, size, scheme="light"):
    """The page, with all that it complained of and asked for."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(url)
    return page, complaints, requests


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["six", "one", "many", "hostile"])
def test_the_page_opens_quietly_and_fits(browser, pages, name, size):
    url = (pages / f"{name}.html").as_uri()
    page, complaints, requests = opened(browser, url, size)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    title, scripts = page.title(), page.evaluate("document.images.length + document.scripts.length")
    page.close()
    assert (wider, complaints, requests) == (0, [], [url])
    assert title != "owned" and scripts == 0


@pytest.mark.parametrize("size", SIZES)
def test_each_strategy_has_a_visible_curve_in_a_colour_of_its_own(browser, pages, size):
    page, _, _ = opened(browser, (pages / "six.html").as_uri(), size)
    curves = page.locator("#curves svg:visible").first.locator("path.curve")
    colours = {curves.nth(n).evaluate("e => getComputedStyle(e).stroke") for n in range(curves.count())}
    fills = {curves.nth(n).evaluate("e => getComputedStyle(e).fill") for n in range(curves.count())}
    page.close()
    assert len(colours) == len(STRATEGIES)
    assert fills == {"none"}


def test_more_arms_than_colours_are_told_apart_by_their_dashes(browser, pages):
    page, _, _ = opened(browser, (pages / "many.html").as_uri(), "desktop")
    look = "e => getComputedStyle(e).stroke + getComputedStyle(e).strokeDasharray"
    curves = page.locator("#curves svg:visible").first.locator("path.curve")
    looks = [curves.nth(n).evaluate(look) for n in range(curves.count())]
    page.close()
    assert len(set(looks)) == len(looks) == 18


def test_a_drill_says_so_at_the_top_and_in_each_row(browser, pages):
    page, _, _ = opened(browser, (pages / "six.html").as_uri(), "desktop")
    label = page.locator(".labels li").first
    seen = label.is_visible(), label.inner_text(), page.locator("#figures th small:visible").count()
    page.close()
    assert seen[:2] == (True, "drill, not a model's result")
    assert seen[2] >= len(STRATEGIES)


def test_the_matrix_has_a_number_in_every_coloured_cell_and_is_dark_in_the_dark(browser, pages):
    url = (pages / "six.html").as_uri()
    lightness = "e => getComputedStyle(e).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((s, p) => s + +p, 0) / 3"
    found = {}
    for scheme in ("light", "dark"):
        page, _, _ = opened(browser, url, "desktop", scheme)
        cells = page.locator(".matrix td.h-slow")
        found[scheme] = cells.first.evaluate(lightness)
        texts = page.locator(".matrix td").all_inner_texts()
        page.close()
    assert all(texts)
    assert found["light"] > 200 > 80 > found["dark"]
