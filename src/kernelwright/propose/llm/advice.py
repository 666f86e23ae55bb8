"""Advice: what a judge or a reflector answers, read out of its reply.

Decides which fields a judge's answer must have, and the spellings that are taken for them. Text for the writer, and never
more: nothing in it is believed.
"""

from typing import NamedTuple

from pydantic import JsonValue

from kernelwright.propose.llm.blocks import cleaned, sound
from kernelwright.propose.llm.clip import clip
from kernelwright.propose.llm.loose_json import objects, salvage
from kernelwright.records.attempt import Intent
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatReply

LONGEST_FIELD, LONGEST_TEXT = 600, 2_000
"""Characters of a field, and of a reflection."""
MOST_METRICS = 4


class RepairAdvice(Record):
    """The one cause of a failure."""

    critical_issue: str
    why_it_matters: str
    minimal_fix_hint: str


class ImproveAdvice(Record):
    """The one step that is worth the most."""

    metrics: tuple[str, ...] = ()
    """Three or four, by name."""
    bottleneck: str
    method: str
    plan: str


class NoAdvice(NamedTuple):
    """Why there is none: one sentence for the adviser."""

    reason: str


_SPELLINGS: dict[str, tuple[str, ...]] = {
    "critical_issue": ("critical_issue", "issue"),
    "why_it_matters": ("why_it_matters", "why"),
    "minimal_fix_hint": ("minimal_fix_hint", "fix_hint", "fix"),
    "bottleneck": ("bottleneck",),
    "method": ("method", "optimisation_method", "optimization_method"),
    "plan": ("plan", "modification_plan"),
}


def read_reflection(reply: ChatReply) -> str | NoAdvice:
    """A reflection: the reply's text."""
    text = cleaned(reply.text).strip()
    return clip(text, characters=LONGEST_TEXT) if text else NoAdvice("it was empty")


def read_judgement(reply: ChatReply, intent: Intent) -> str | NoAdvice:
    """A judge's answer as JSON."""
    text = cleaned(reply.text)
    fields = tuple(RepairAdvice.model_fields) if intent == "repair" else ("bottleneck", "method", "plan")
    for found in objects(text):
        named = {key.strip().lower().replace(" ", "_"): value for key, value in found.items()}
        told = {field: _field(named, field) for field in fields}
        if all(told.values()):
            return _advice(intent, told, named.get("metrics"))
    broken = {field: _salvaged(text, field) for field in fields}
    if all(broken.values()):
        return _advice(intent, broken, None)
    missing = ", ".join(field for field in fields if not broken[field]) if any(broken.values()) else ", ".join(fields)
    return NoAdvice(f"it holds no JSON object with text for {missing}")


def _advice(intent: Intent, told: dict[str, str], metrics: JsonValue) -> str:
    if intent == "repair":
        return RepairAdvice.model_validate(told).model_dump_json(indent=1)
    listed = metrics if isinstance(metrics, list) else list(metrics) if isinstance(metrics, dict) else []
    names = tuple(sound(m)[:LONGEST_FIELD] for m in listed if isinstance(m, str))[:MOST_METRICS]
    return ImproveAdvice.model_validate({**told, "metrics": names}).model_dump_json(indent=1)


def _field(named: dict[str, JsonValue], field: str) -> str:
    for spelling in _SPELLINGS[field]:
        value = named.get(spelling)
        text = " ".join(str(v) for v in value) if isinstance(value, list) else value
        if isinstance(text, str) and text.strip():
            return sound(text).strip()[:LONGEST_FIELD]
    return ""


def _salvaged(text: str, field: str) -> str:
    for spelling in _SPELLINGS[field]:
        held = salvage(text, (spelling, spelling.replace("_", " ")))
        if held is not None and held.closed and held.text.strip():
            return sound(held.text).strip()[:LONGEST_FIELD]
    return ""
