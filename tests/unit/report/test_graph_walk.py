"""The way through the graph in a run's report: read off the attempts, and drawn whatever way it took."""

import re
from math import inf

import pytest

from fake_runs import HOSTILE, attempt, card, measured
from kernelwright.records.attempt import ProposalRequest
from kernelwright.report.charts.svg import WIDE
from kernelwright.report.charts.walk import walked, ways
from kernelwright.report.html import figures, render
from kernelwright.testing.samples import sample_attempt


def step(number, hint, parent=None, speedup=2.0, outcome="measured", **chosen):
    """One step of a walk; a parent is an attempt's number."""
    made = sample_attempt(number, outcome, speedup)
    asked = ProposalRequest(
        number=number, intent="apply-technique", hint=hint, parents=() if parent is None else (parent,)
    )
    proposal = made.proposal.model_copy(update=chosen)
    return made.model_copy(update={"proposal_request": asked, "proposal": proposal})


WALK = [
    step(0, "base", speedup=2.0),
    step(1, "tiling", 0, speedup=6.0),
    step(2, "vectors", 1, outcome="incorrect"),
    step(3, "vectors", 0, speedup=1.0),
    step(4, "tiling", 3, speedup=5.0),
]


def test_each_edge_says_what_it_gained_and_what_lay_behind_it():
    found = {(e.source, e.target): e for e in walked(WALK, best=1)}
    assert list(found) == [
        ("start", "base"), ("base", "tiling"), ("tiling", "vectors"), ("base", "vectors"), ("vectors", "tiling"),
    ]  # fmt: skip
    base, wrong, back = found["start", "base"], found["tiling", "vectors"], found["vectors", "tiling"]
    assert (base.tried, base.right, base.visits, base.gain, base.best) == (1, 1, 5, 2.0, 6.0)
    assert (wrong.tried, wrong.right, wrong.gain, wrong.best) == (1, 0, None, 0.0)
    assert (back.gain, back.best) == (5.0, 5.0)
    assert [e.target for e in found.values() if e.on_best] == ["base", "tiling"]


def test_a_navigators_choice_counts_and_other_strategies_walk_nowhere():
    (edge,) = walked([step(0, "", technique="chosen")], None)
    assert (edge.source, edge.target) == ("start", "chosen")
    assert walked([sample_attempt(0, "measured", 2.0)], 0) == []


def test_a_step_from_a_kernel_that_was_no_step_begins_at_the_start():
    (edge,) = walked([sample_attempt(0, "measured", 4.0), step(1, "tiling", 0, speedup=6.0)], 1)
    assert (edge.source, edge.gain) == ("start", 1.5)


@pytest.mark.parametrize(
    "circle", [[step(0, "a"), step(1, "b", 0), step(2, "a", 1), step(3, "b", 2)], [step(0, "a"), step(1, "a", 0)]]
)
def test_a_way_in_circles_is_drawn(circle):
    picture = str(ways(walked(circle, 1), WIDE))
    assert "nan" not in picture
    assert str(inf) not in picture
    assert len(re.findall("<path", picture)) == len(walked(circle, 1))


def test_the_report_has_the_way_and_hostile_names_stay_text():
    walk = [step(0, "base"), step(1, HOSTILE, 0)]
    page = render(card(), walk, None)
    assert "The way through the graph of techniques" in page
    assert "<script>document" not in page
    assert "walk.svg" in figures(card(), walk, None)
    assert "The way through" not in render(card(), [attempt(0, measured())], None)
