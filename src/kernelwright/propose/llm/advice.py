"""Advice: what a judge or a reflector answers, read out of its reply.

A judge's answer must have certain fields, in one of their spellings, must be one answer, and must rest on metrics that
were shown. It is text for the writer and never more: nothing in it is believed.
"""

import json
import re
from collections.abc import Iterator, Sequence
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
LEAST_METRICS, MOST_METRICS = 3, 4
"""Decisive ones, as in CudaForge; fewer where fewer are shown."""


class RepairAdvice(Record):
    """The one cause of a failure."""

    critical_issue: str
    why_it_matters: str
    minimal_fix_hint: str


class ImproveAdvice(Record):
    """The one step that is worth the most."""

    metrics: tuple[str, ...] = ()
    """Three or four, by the names that were shown; fewer where fewer were."""
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


def read_judgement(reply: ChatReply, intent: Intent, shown: Sequence[str] = ()) -> str | NoAdvice:
    """A judge's answer as JSON. `shown` are the names of the metrics that it saw."""
    text = cleaned(reply.text)
    fields = tuple(RepairAdvice.model_fields) if intent == "repair" else ("bottleneck", "method", "plan")
    found = _answers(text, fields) or _broken(text, fields)
    if isinstance(found, NoAdvice):
        return found
    if any(answer.told != found[0].told for answer in found):
        return NoAdvice(f"it holds {len(found)} answers: reply with exactly one JSON object")
    told, metrics = found[0]
    if intent == "repair":
        return RepairAdvice.model_validate(told).model_dump_json(indent=1)
    names = _decisive(metrics, shown)
    if isinstance(names, NoAdvice):
        return names
    return ImproveAdvice.model_validate({**told, "metrics": names}).model_dump_json(indent=1)


class _Answer(NamedTuple):
    told: dict[str, str]
    """Text by field."""
    metrics: JsonValue


def _answers(text: str, fields: tuple[str, ...]) -> list[_Answer]:
    """Every object that has all the fields."""
    found = []
    for named in (inner for outer in objects(text) for inner in _inner(outer)):
        told = {field: _field(named, field) for field in fields}
        if all(told.values()):
            found.append(_Answer(told, named.get("metrics")))
    return found


def _inner(outer: dict[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """The objects in an object, itself among them, with keys as our fields are written."""
    waiting: list[JsonValue] = [outer]
    for value in waiting:
        if isinstance(value, dict):
            yield {key.strip().lower().replace(" ", "_"): held for key, held in value.items()}
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _broken(text: str, fields: tuple[str, ...]) -> list[_Answer] | NoAdvice:
    """The same of text that is nearly JSON."""
    told = {field: _salvaged(text, field) for field in fields}
    if not all(told.values()):
        missing = ", ".join(field for field in fields if not told[field]) if any(told.values()) else ", ".join(fields)
        return NoAdvice(f"it holds no JSON object with text for {missing}")
    times = max(len(re.findall(rf'"{spelling}"\s*:', text)) for field in fields for spelling in _SPELLINGS[field])
    if times > 1:
        return NoAdvice(f"it holds {times} answers: reply with exactly one JSON object")
    listed = re.search(r'"metrics"\s*:\s*\[([^\]]*)\]', text)
    return [_Answer(told, [*re.findall(r'"([^"]*)"', listed[1])] if listed else None)]


def _decisive(metrics: JsonValue, shown: Sequence[str]) -> tuple[str, ...] | NoAdvice:
    """The metrics that were chosen, by the names that they were shown under. Where none were shown there is no choice."""
    if not shown:
        return ()
    known = {name.lower(): name for name in shown}
    chosen = {item: next((known[w] for w in _words(item) if w in known), "") for item in _items(metrics)}
    names, strange = tuple(dict.fromkeys(filter(None, chosen.values()))), [i for i, name in chosen.items() if not name]
    wanted = "name the three or four that decide, as the profile does"
    if strange:
        return NoAdvice(f'"metrics" holds {strange[0][:80]!r}, which the profile does not show: {wanted}')
    if not min(LEAST_METRICS, len(shown)) <= len(names) <= MOST_METRICS:
        return NoAdvice(f'"metrics" names {len(names)} of the metrics shown: {wanted}')
    return names


def _items(metrics: JsonValue) -> list[str]:
    listed = re.split(r"[,;\n]", metrics) if isinstance(metrics, str) else metrics
    items = [*listed] if isinstance(listed, list | dict) else []
    texts = (sound(item if isinstance(item, str) else json.dumps(item)) for item in items)
    return [text for text in texts if text.strip()]


def _words(item: str) -> list[str]:
    """What may be a metric's name in a choice: all of it, then each word."""
    text = item.strip().lower()
    return [text.replace(" ", "_").replace("-", "_"), *re.findall(r"\w+", text)]


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
