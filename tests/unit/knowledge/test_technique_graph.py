"""The graph of techniques: its file, relabelling and merging, what is at fault, and changes carried over to other codes."""

import json

import pytest

from kernelwright.errors import UsageError
from kernelwright.knowledge.graph.file import graph_text, read_graph, shipped_graph
from kernelwright.knowledge.graph.merge import (
    Label,
    apply_labels,
    gain_between,
    labels_of,
    merged,
    name_of,
    read_labels,
    read_steps,
    unite,
)
from kernelwright.knowledge.graph.stats import faults, stats
from kernelwright.knowledge.graph.switched import read_switched, trajectories
from kernelwright.knowledge.library import technique_names
from kernelwright.records.attempt import WorkedStep
from kernelwright.records.technique import (
    START,
    Judged,
    Step,
    TechniqueGraph,
    Trajectory,
    apply_step,
    at_sizes,
    code_id,
)
from technique_graphs import SERIAL, cube

DEVICE = "Test device"


def trajectory(*steps, source=SERIAL):
    made = tuple(Step(think="why", method=method, code=code) for method, code in steps)
    return Trajectory(task="t", family="reduction", kind="cpu", language="cpp", source=source, steps=made)


def timed(speedup):
    return Judged(
        outcome="measured", right=True, device=DEVICE, latency_us=9.0, speedup=(speedup, speedup * 0.98, speedup * 1.02)
    )


WRONG = Judged(outcome="incorrect", right=False, evidence="off by one")


def grown(way, *verdicts):
    return merged(TechniqueGraph(), way, {code_id(s.code): v for s, v in zip(way.steps, verdicts, strict=True)})


# --- merging ------------------------------------------------------------------------------------------------------------


def test_merging_walks_from_the_start_and_adds_node_edge_or_example():
    first = grown(trajectory(("a", "A"), ("b", "AB")), timed(2.0), timed(4.0))
    assert first.nodes == (START, "a", "b")
    assert [edge.key for edge in first.edges] == ["start>a", "a>b"]
    second = trajectory(("a", "A2"), ("c", "AC"), source="another serial code")
    both = merged(first, second, {code_id("A2"): timed(3.0), code_id("AC"): timed(6.0)})
    assert [edge.key for edge in both.edges] == ["start>a", "a>b", "a>c"]
    assert len(both.by_key["start>a"].examples) == 2


def test_the_first_step_gains_over_the_baseline_and_later_ones_over_the_step_before():
    graph = grown(trajectory(("a", "A"), ("b", "AB")), timed(2.0), timed(5.0))
    gains = [edge.examples[0].gains[0].median for edge in graph.edges]
    assert gains == [2.0, 2.5]
    assert gain_between(timed(2.0), WRONG, first=False) is None


def test_kernels_with_times_of_their_own_are_told_apart_beside_a_baseline_that_scatters():
    slow, fast = (
        timed(1000.0).model_copy(update={"speedup": (1000.0, 500.0, 2000.0), "latency_us": us, "within_us": within})
        for us, within in ((10.0, (9.9, 10.1)), (8.0, (7.9, 8.1)))
    )
    gain = gain_between(slow, fast, first=False)
    assert (gain.median, gain.payoff) == (1.25, "faster")
    assert (gain.low, gain.high) == pytest.approx((9.9 / 8.1 / 1.015, 10.1 / 7.9 * 1.015), rel=1e-3)
    outside = slow.model_copy(update={"within_us": None})
    assert gain_between(outside, fast, first=False).payoff == "no difference"
    assert gain_between(slow, fast, first=True).median == 1000.0


def test_a_step_that_loses_time_or_is_wrong_is_counter_evidence():
    graph = grown(trajectory(("a", "A"), ("b", "AB"), ("c", "ABC")), timed(2.0), timed(1.0), WRONG)
    assert [len(edge.examples) for edge in graph.edges] == [1, 0, 0]
    assert [len(edge.counter) for edge in graph.edges] == [0, 1, 1]
    assert graph.by_key["b>c"].counter[0].evidence == "off by one"


def test_nothing_is_built_on_a_wrong_step():
    graph = grown(trajectory(("a", "A"), ("b", "AB")), WRONG, timed(2.0))
    assert [edge.key for edge in graph.edges] == ["start>a"]


def test_a_cycle_stays_a_cycle():
    graph = grown(trajectory(("a", "A"), ("b", "AB"), ("a", "A")), timed(2.0), timed(3.0), timed(2.0))
    assert {"a>b", "b>a"} <= set(graph.by_key)
    assert stats(graph).cycles


def test_the_same_trajectory_counts_once_and_another_device_is_another_gain():
    way = trajectory(("a", "A"))
    graph = grown(way, timed(2.0))
    again = merged(graph, way, {code_id("A"): timed(2.0)})
    assert again == graph
    other = timed(3.0).model_copy(update={"device": "Another device"})
    both = merged(graph, way, {code_id("A"): other}).by_key["start>a"].examples
    assert [gain.device for gain in both[0].gains] == [DEVICE, "Another device"]


def test_a_step_that_was_not_judged_may_not_enter():
    with pytest.raises(UsageError, match="was not judged"):
        merged(TechniqueGraph(), trajectory(("a", "A")), {})


def test_united_graphs_hold_each_example_once():
    one = grown(trajectory(("a", "A")), timed(2.0))
    other = grown(trajectory(("a", "A"), ("b", "AB")), timed(2.0), timed(4.0))
    both = unite([one, other, one])
    assert [len(edge.examples) for edge in both.edges] == [1, 1]
    assert set(both.merged) == {*one.merged, *other.merged}


# --- relabelling --------------------------------------------------------------------------------------------------------


def test_methods_become_names():
    way = apply_labels(trajectory(("Shared memory tiling", "A")), labels_of(trajectory(("x", "A")), ()), ())
    assert way.steps[0].method == "x"
    assert name_of("  Warp-level REDUCTION (shuffles) ") == "warp-level-reduction-shuffles"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([], "1 steps got 0 labels"),
        ([Label(existed="yes", method="a"), Label(existed="no", method="b")], "1 steps got 2 labels"),
        ([Label(existed="yes", method="nobody-knows-it")], "no technique has that name"),
        ([Label(existed="no", method="start")], "cannot name a technique"),
        ([Label(existed="no", method="!?")], "cannot name a technique"),
    ],
)
def test_a_relabelling_that_does_not_fit_drops_the_whole_trajectory(labels, words):
    with pytest.raises(UsageError, match=words):
        apply_labels(trajectory(("a", "A")), labels, ("a",))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "[1]", '[{"think": "x"}]', '[{"think":"","method":"","code":""}]', "[" * 9]
)
def test_malformed_steps_are_refused(text):
    with pytest.raises(UsageError, match="the trajectory"):
        read_steps(text)


@pytest.mark.parametrize("text", ["", "[", '[{"existed": "maybe", "method": "a"}]', '[{"method": "a"}]', '"yes"'])
def test_malformed_labels_are_refused(text):
    with pytest.raises(UsageError, match="the relabelling"):
        read_labels(text)


def test_labels_may_say_true():
    assert read_labels('[{"existed": true, "method": "a"}]') == (Label(existed="yes", method="a"),)


# --- the file -----------------------------------------------------------------------------------------------------------


def test_a_graph_survives_its_file(tmp_path):
    (file := tmp_path / "g.json").write_text(graph_text(cube("a", "b")))
    assert read_graph(file) == cube("a", "b")
    assert read_graph(file).id == cube("a", "b").id


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_refused_with_the_cure(tmp_path, share):
    text = graph_text(cube("a", "b"))
    (file := tmp_path / "g.json").write_text(text[: int(len(text.rstrip()) * share)])
    with pytest.raises(UsageError, match="restore it from a copy"):
        read_graph(file)


def test_a_newer_layout_is_refused_with_the_cure(tmp_path):
    (file := tmp_path / "g.json").write_text(graph_text(cube("a")).replace('"version": 1', '"version": 2'))
    with pytest.raises(UsageError, match="upgrade kernelwright"):
        read_graph(file)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda g: g["edges"][0].update(target="nobody"),
        lambda g: g["nodes"].append("a"),
        lambda g: g["edges"].append(g["edges"][0]),
        lambda g: g.update(codes={}),
        lambda g: g.update(surplus=1),
        lambda g: g["nodes"].remove("start"),
    ],
)
def test_a_graph_that_does_not_fit_together_is_refused(tmp_path, spoil):
    table = json.loads(graph_text(cube("a")))
    spoil(table)
    (file := tmp_path / "g.json").write_text(json.dumps(table))
    with pytest.raises(UsageError, match="cannot be taken"):
        read_graph(file)


def test_a_graph_that_is_not_there_says_so(tmp_path):
    with pytest.raises(UsageError, match="check the path"):
        read_graph(tmp_path / "none.json")


def test_what_hangs_loose_is_a_fault():
    graph = cube("a").model_copy(
        update={"nodes": (START, "base", "a", "alone"), "codes": {**cube("a").codes, "0" * 16: "x"}}
    )
    found = faults(graph)
    assert any("alone cannot be reached" in fault for fault in found)
    assert any("part of no example" in fault for fault in found)


def test_the_shipped_graph_is_whole_and_each_technique_has_a_card():
    graph = shipped_graph()
    assert faults(graph) == ()
    assert set(graph.nodes) - {START} <= technique_names()
    assert stats(graph).techniques >= 40


# --- changes carried over -----------------------------------------------------------------------------------------------


def test_a_step_makes_its_result_of_the_very_code_that_it_shows_at_these_sizes():
    before, after = "constexpr long n = 5;\nslow\n", "constexpr long n = 5;\nfast\n"
    step = WorkedStep(technique="t", think="", language="cpp", before=before, after=after, sizes={"n": 5})
    assert apply_step(step, before.replace("5", "9"), {"n": 7}) == "constexpr long n = 7;\nfast\n"
    assert apply_step(step, before + "more\n", {"n": 7}) is None


def test_sizes_are_constants_that_are_replaced():
    assert at_sizes("  constexpr long n = 5;\nlong n = 5;\n", {"n": 7}) == "  constexpr long n = 7;\nlong n = 5;\n"


# --- written trajectories -----------------------------------------------------------------------------------------------

SWITCHED = """//: base = thread-per-element | | why | how
//: fast = fast-intrinsics | | why | how
//: more = loop-unrolling | fast | why | how
//: other = layout-change | !fast | why | how
base ${n}
//% if fast
fast
//% endif
//% if more
more
//% elif other
other
//% endif
"""


def test_a_source_with_switches_has_every_state_that_can_be(tmp_path):
    (file := tmp_path / "t.cpp").write_text(SWITCHED)
    source = read_switched(file)
    assert source.states == (("base",), ("base", "fast"), ("base", "other"), ("base", "fast", "more"))
    assert source.code(("base", "fast", "more"), {"n": 3}) == "base 3\nfast\nmore\n"


def test_its_trajectories_take_each_step_once_after_each_technique(tmp_path):
    (file := tmp_path / "t.cpp").write_text(SWITCHED.replace("base ${n}", 'extern "C" void kernel() {}'))
    ways = list(trajectories(read_switched(file), SERIAL, "pointwise", "cpu", {}))
    steps = {tuple(step.method for step in way.steps) for way in ways}
    assert ("thread-per-element", "fast-intrinsics", "loop-unrolling") in steps
    assert ("thread-per-element", "layout-change") in steps
    assert not any("layout-change" in way and "fast-intrinsics" in way for way in steps)


@pytest.mark.parametrize("text", ["no switches\n", "//: base = a | b\n", "//: base\n"])
def test_a_source_without_proper_switches_is_refused(tmp_path, text):
    (file := tmp_path / "t.cu").write_text(text)
    with pytest.raises(UsageError, match="switch"):
        read_switched(file)
