"""Advice out of a judge's replies."""

import json

import pytest

from kernelwright.propose.llm.advice import NoAdvice, read_judgement, read_reflection
from kernelwright.records.chat import ChatReply

REPAIR = {"critical_issue": "sign", "why_it_matters": "results differ", "minimal_fix_hint": "use abs"}
STEP = {"bottleneck": "memory", "method": "vector loads", "plan": "float4"}


def judged(text, intent="improve"):
    found = read_judgement(ChatReply(text=text, model="m"), intent)
    return found if isinstance(found, NoAdvice) else json.loads(found)


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
    ],
)
def test_a_step_has_one_bottleneck(text):
    assert judged(text) == {"metrics": [], **STEP}


def test_the_decisive_metrics_are_at_most_four():
    told = judged(json.dumps({"metrics": ["a", "b", "c", "d", "e", 7], **STEP}))
    assert told["metrics"] == ["a", "b", "c", "d"]
    assert judged(json.dumps({"metrics": {"a": 1, "b": 2}, **STEP}))["metrics"] == ["a", "b"]


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
