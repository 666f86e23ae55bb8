"""The adviser's step: a judge or a reflector is asked first, for one thing to do.

A judge's answer must have certain fields, in one of their spellings, must be one answer, and must rest on metrics that
were shown. It is text for the writer and never more. Without usable advice the writer continues alone; either way the
diagnosis is journaled before it is acted on.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from kernelwright.propose.llm.dialogue import Dialogue, ask_twice, opening
from kernelwright.propose.llm.render import Prompts, Rendered, clip
from kernelwright.propose.llm.reply import cleaned, objects, salvage, sound
from kernelwright.propose.llm.sections import Facts, evidence, known, metrics_shown
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


def answer_form(intent: Intent) -> dict[str, JsonValue]:
    """A judge's answer as JSON Schema: exactly these fields, each of them there, as both protocols want it."""
    record = RepairAdvice if intent == "repair" else ImproveAdvice
    text: JsonValue = {"type": "string"}
    several: JsonValue = {"type": "array", "items": text}
    fields: dict[str, JsonValue] = {name: several if name == "metrics" else text for name in record.model_fields}
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


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
    if any(answer.texts != found[0].texts for answer in found):
        return NoAdvice(f"it holds {len(found)} answers: reply with exactly one JSON object")
    texts, metrics = found[0]
    if intent == "repair":
        return RepairAdvice.model_validate(texts).model_dump_json(indent=1)
    names = _decisive(metrics, shown)
    if isinstance(names, NoAdvice):
        return names
    return ImproveAdvice.model_validate({**texts, "metrics": names}).model_dump_json(indent=1)


class _Answer(NamedTuple):
    texts: dict[str, str]
    """Text by field."""
    metrics: JsonValue


def _answers(text: str, fields: tuple[str, ...]) -> list[_Answer]:
    """Every object that has all the fields."""
    found = []
    for named in (inner for outer in objects(text) for inner in _inner(outer)):
        texts = {field: _field(named, field) for field in fields}
        if all(texts.values()):
            found.append(_Answer(texts, named.get("metrics")))
    return found


def _inner(outer: dict[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """The objects in an object, itself among them, with keys as our fields are written."""
    waiting: list[JsonValue] = [outer]
    for value in waiting:
        if isinstance(value, dict):
            yield {key.strip().lower().replace(" ", "_"): inner for key, inner in value.items()}
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _broken(text: str, fields: tuple[str, ...]) -> list[_Answer] | NoAdvice:
    """The same of text that is nearly JSON."""
    texts = {field: _salvage(text, field) for field in fields}
    if not all(texts.values()):
        missing = ", ".join(field for field in fields if not texts[field])
        return NoAdvice(f"it holds no JSON object with text for {missing}")
    times = max(len(re.findall(rf'"{spelling}"\s*:', text)) for field in fields for spelling in _SPELLINGS[field])
    if times > 1:
        return NoAdvice(f"it holds {times} answers: reply with exactly one JSON object")
    listed = re.search(r'"metrics"\s*:\s*\[([^\]]*)\]', text)
    return [_Answer(texts, [*re.findall(r'"([^"]*)"', listed[1])] if listed else None)]


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


def _salvage(text: str, field: str) -> str:
    for spelling in _SPELLINGS[field]:
        found = salvage(text, (spelling, spelling.replace("_", " ")))
        if found is not None and found.closed and found.text.strip():
            return sound(found.text).strip()[:LONGEST_FIELD]
    return ""


REFLECTOR = "reflector"
"""Answers in words; every other adviser answers in JSON."""
SHOWN = {
    "judge-repair": ("host", "reference", "serial", "candidate", "log", "mismatch"),
    "judge-improve": ("reference", "serial", "hardware", "candidate", "profile", "log", "mismatch"),
    "reflector-repair": ("task", "reference", "serial", "candidate", "log", "mismatch"),
    "reflector-improve": ("task", "reference", "serial", "hardware", "candidate", "profile", "log", "mismatch"),
}
"""The sections of each prompt, beside the hint."""


async def advise(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> str:
    """The adviser's words for the writer; empty when they cannot be used.

    Raises:
        NoRoom, ModelError, ProposeError: as `ModelGateway.ask`.
    """
    role = facts.brief.proposal_request.adviser
    name = f"{role}-{'repair' if facts.brief.proposal_request.intent == 'repair' else 'improve'}"
    contract = "parts/reply-reflector.md" if role == REFLECTOR else f"parts/reply-{name}.md"
    every = {**known(facts), **evidence(facts)}
    shown = {key: every[key] for key in (*SHOWN.get(name, tuple(every)), "order", "hint")}
    rendered = prompts.render(name, {**shown, "contract": contract})
    dialogue.prompts.append(rendered)

    def again(found: str | NoAdvice) -> Rendered | None:
        if isinstance(found, str):
            return None
        return prompts.render("again", {"problem": found.reason, "contract": contract})

    # Without room for the second question there is none for the writer either: NoRoom ends the dialogue.
    form = None if role == REFLECTOR else answer_form(facts.brief.proposal_request.intent)
    advice = await ask_twice(dialogue, role, opening(rendered), lambda reply: _read(reply, facts), again, form)
    if isinstance(advice, NoAdvice):
        facts.brief.gateway.note(role, f"No usable advice: {advice.reason}.", dialogue.sibling)
        return ""
    facts.brief.gateway.note(role, advice, dialogue.sibling)
    return advice


def _read(reply: ChatReply, facts: Facts) -> str | NoAdvice:
    proposal_request = facts.brief.proposal_request
    if proposal_request.adviser == REFLECTOR:
        return read_reflection(reply)
    return read_judgement(reply, proposal_request.intent, metrics_shown(facts))
