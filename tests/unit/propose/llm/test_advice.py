"""Advice out of a judge's replies."""

import json

import pytest

from kernelwright.propose.llm.advice import (
    ImproveAdvice,
    NoAdvice,
    RepairAdvice,
    answer_form,
    read_judgement,
    read_reflection,
)
from kernelwright.records.chat import ChatReply

REPAIR = {"critical_issue": "sign", "why_it_matters": "results differ", "minimal_fix_hint": "use abs"}
STEP = {"bottleneck": "memory", "method": "vector loads", "plan": "float4"}
SHOWN = ("dram_share", "waves", "registers", "Latency", "grid")
DECIDE = ["dram_share", "waves", "Latency"]


def judged(text, intent="improve", shown=()):
    found = read_judgement(ChatReply(text=text, model="m"), intent, shown)
    return found if isinstance(found, NoAdvice) else json.loads(found)


def chosen(metrics, shown=SHOWN):
    return judged(json.dumps({"metrics": metrics, **STEP}), shown=shown)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(REPAIR),
        f"```json\n{json.dumps(REPAIR, indent=2)}\n```",
        f"The cause is clear.\n{json.dumps(REPAIR)}\nGood luck!",
        f"<think>{{}}</think>{json.dumps(REPAIR)}",
        json.dumps({key.upper(): value for key, value in REPAIR.items()}),
        json.dumps(REPAIR)[:-1],
        json.dumps({"critical issue": "sign", "why": ["results", "differ"], "fix": "use abs"}),
    ],
)
def test_a_repair_has_one_cause(text):
    assert judged(text, "repair") == REPAIR


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(STEP),
        json.dumps({"bottleneck": "memory", "optimisation method": "vector loads", "modification plan": "float4"}),
        json.dumps({"Bottleneck": "memory", "Optimization Method": "vector loads", "Modification Plan": "float4"}),
        json.dumps({"metrics": "dram_share", **STEP}),
        json.dumps({"diagnosis": STEP}),
        f"{json.dumps(STEP)}\nAgain, as asked:\n{json.dumps(STEP)}",
        f"The keys are {json.dumps({'bottleneck': '', 'method': ''})}.\n{json.dumps(STEP)}",
    ],
)
def test_a_step_has_one_bottleneck(text):
    assert judged(text) == {"metrics": [], **STEP}


@pytest.mark.parametrize(
    "metrics",
    [
        DECIDE,
        [*DECIDE, "dram_share"],
        ["dram_share: 0.85", "Waves", "latency (50.00 us)"],
        ["kernels.scale.dram_share", "waves of the last launch", "LATENCY"],
        [{"name": "dram_share", "value": 0.85}, {"waves": 1.0}, "Latency"],
        {"dram_share": 0.85, "waves": 1.0, "Latency": "50 us"},
        "dram_share, waves, Latency",
    ],
)
def test_the_decisive_metrics_are_named_as_they_are_shown(metrics):
    assert chosen(metrics)["metrics"] == DECIDE


@pytest.mark.parametrize(
    ("metrics", "reason"),
    [
        (None, "names 0 of the metrics shown"),
        ([], "names 0 of the metrics shown"),
        ("", "names 0 of the metrics shown"),
        (7, "names 0 of the metrics shown"),
        (["dram_share", "waves"], "names 2 of the metrics shown"),
        (["dram_share", "dram_share", "dram_share: 0.85"], "names 1 of the metrics shown"),
        (SHOWN, "names 5 of the metrics shown"),
        ([*DECIDE, "warp_divergence"], "'warp_divergence', which the profile does not show"),
        (["issue_share"] * 3, "'issue_share', which the profile does not show"),
    ],
)
def test_a_choice_of_other_metrics_is_none(metrics, reason):
    found = chosen(metrics)
    assert isinstance(found, NoAdvice)
    assert reason in found.reason
    assert found.reason.endswith("name the three or four that decide, as the profile does")


def test_where_less_is_shown_less_is_chosen():
    assert chosen(["bytes", "read_gbps"], ("bytes", "read_gbps"))["metrics"] == ["bytes", "read_gbps"]
    assert isinstance(chosen(["bytes"], ("bytes", "read_gbps")), NoAdvice)
    assert chosen(["dram_share"], ())["metrics"] == []


@pytest.mark.parametrize("intent", ["repair", "improve"])
def test_of_two_diagnoses_none_is_taken(intent):
    one = REPAIR if intent == "repair" else STEP
    other = {**one, next(iter(one)): "another"}
    found = {
        judged(json.dumps([one, other]), intent),
        judged(f"{json.dumps(one)}\nor\n{json.dumps(other)}", intent),
        judged(json.dumps({"first": one, "more": [other]}), intent),
        judged(json.dumps([one, other]).replace("}", ",}"), intent),
    }
    assert found == {NoAdvice("it holds 2 answers: reply with exactly one JSON object")}


def test_metrics_are_read_out_of_a_broken_object():
    text = json.dumps({"metrics": DECIDE, **STEP})[:-1]
    assert judged(text, shown=SHOWN) == {"metrics": DECIDE, **STEP}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("It is memory bound.", "bottleneck, method, plan"),
        ("", "bottleneck, method, plan"),
        (json.dumps({"bottleneck": "memory", "method": "x", "plan": ""}), "plan"),
        ("[1, 2]", "bottleneck, method, plan"),
    ],
)
def test_what_is_missing_is_told(text, missing):
    found = judged(text)
    assert isinstance(found, NoAdvice)
    assert found.reason.endswith(f"text for {missing}")


def test_long_fields_are_cut():
    assert len(judged(json.dumps({**STEP, "plan": "x" * 5000}))["plan"]) == 600


def test_a_reflection_is_its_text():
    assert read_reflection(ChatReply(text="<think>hm</think> The index is off.\n", model="m")) == "The index is off."
    assert isinstance(read_reflection(ChatReply(text="  ", model="m")), NoAdvice)


@pytest.mark.parametrize(("intent", "record"), [("repair", RepairAdvice), ("improve", ImproveAdvice)])
def test_the_form_of_an_answer_has_every_field_of_its_record(intent, record):
    form = answer_form(intent)
    assert list(form["properties"]) == form["required"] == [*record.model_fields]
    assert {name for name, field in form["properties"].items() if field["type"] == "array"} <= {"metrics"}
