"""What a model does with the graph of techniques: the role `navigator` walks it, and the reasoning pass makes it grow.

The navigator names one of several steps that lead on. It sees the task, the code at hand, the hardware, the steps with what
each gained elsewhere, and what holds the parent back. An answer that names none of them, or no budget for one, leaves the
first step standing, which is the one that earlier runs promise the most of.

In the reasoning pass a model makes a task's code faster step by step, and then says what each step is called in the graph.
Both halves are ReGraphT's (arXiv 2510.19873, section 3.1): steps {think, method, detail, code}, and labels {existed, method}
of the same number. What cannot be read is the caller's to drop; nothing is repaired, because half a trajectory is none.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.languages import language
from kernelwright.propose.llm.dialogue import opening
from kernelwright.propose.llm.render import Prompts, Value
from kernelwright.propose.llm.reply import cleaned
from kernelwright.propose.llm.sections import Facts, describe_task, evidence, known
from kernelwright.propose.proposer import Brief, NoRoom
from kernelwright.records.attempt import WorkedStep
from kernelwright.records.chat import ChatReply, ChatRequest
from kernelwright.records.evaluation import Measured
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

NAVIGATOR = "navigator"
NAVIGATOR_TOKENS = 2_000
"""A name and a sentence: what a model thinks before is counted too."""
TEMPERATURE, TOKENS = 0.7, 32_768
"""Of the reasoning pass: ReGraphT's temperature; room for a dozen whole kernels."""
Ask = Callable[[ChatRequest], Awaitable[ChatReply]]


async def choose_step(brief: Brief, sibling: int = 0) -> WorkedStep:
    """The step to take.

    Raises:
        ProposeError: no model serves the role.
        ModelError: it cannot be had.
    """
    steps = brief.proposal_request.steps
    if len(steps) == 1 or not brief.proposal_request.adviser:
        return steps[0]
    choices = [{"technique": s.technique, "gained": s.effect, "why": s.think} for s in steps]
    facts = Facts(brief, steps[0].language)
    shown = {name: known(facts)[name] for name in ("task", "reference", "serial", "hardware")}
    shown |= {"candidate": evidence(facts)["candidate"], "choices": choices}
    rendered = Prompts().render("navigator-apply-technique", {**shown, "bottleneck": await _bottleneck(brief, sibling)})
    seed = brief.seed % (1 << 31)
    request = ChatRequest(messages=opening(rendered), temperature=0.2, max_tokens=NAVIGATOR_TOKENS, seed=seed)
    try:
        reply = await brief.gateway.ask(NAVIGATOR, request, sibling)
    except NoRoom:
        return steps[0]
    name = technique_named(reply.text, [step.technique for step in steps])
    brief.gateway.note(NAVIGATOR, f"takes {name or steps[0].technique}", sibling)
    return next((step for step in steps if step.technique == name), steps[0])


def with_step(brief: Brief, step: WorkedStep) -> Brief:
    """The brief with the one step that was chosen."""
    update = {"hint": step.technique, "adviser": "", "steps": (step,)}
    return replace(brief, proposal_request=brief.proposal_request.model_copy(update=update))


async def _bottleneck(brief: Brief, sibling: int) -> str:
    if not (brief.parents and brief.feedback):
        return ""
    found = brief.parents[0].evaluation
    profile = await brief.gateway.profile(brief.parents[0].number, sibling)
    statement = diagnose(profile, found if isinstance(found, Measured) else None)
    return f"{brief.feedback[0].words}\n{statement.words}".strip()


def technique_named(text: str, techniques: list[str]) -> str:
    """Which of the techniques an answer names: in its JSON, else the last one in its words; empty: none."""
    for found in reversed(re.findall(r"\{[^{}]*\}", text)):
        try:
            value = json.loads(found).get("technique")
        except json.JSONDecodeError:
            continue
        if value in techniques:
            return str(value)
    places = {text.rfind(name): name for name in techniques if name in text}
    return places[max(places)] if places else ""


async def reason(ask: Ask, task: Task, written: LanguageName) -> str:
    """The steps as JSON: a list, as the model wrote it.

    Raises:
        ModelError: no answer could be had.
    """
    shown = {"task": describe_task(task), "reference": task.source.origin, "title": language(written).title}
    return await _ask_for_list(ask, "graph-reason", {**shown, "language": written})


async def relabel(ask: Ask, methods: Sequence[str], known: Sequence[str]) -> str:
    """The labels as JSON: a list, as the model wrote it.

    Raises:
        ModelError: no answer could be had.
    """
    return await _ask_for_list(ask, "graph-relabel", {"methods": list(methods), "known": list(known)})


async def _ask_for_list(ask: Ask, name: str, shown: Mapping[str, Value]) -> str:
    messages = opening(Prompts().render(name, shown))
    reply = await ask(ChatRequest(messages=messages, temperature=TEMPERATURE, max_tokens=TOKENS))
    return outermost(cleaned(reply.text))


def outermost(text: str) -> str:
    """The first whole JSON list of objects in a text; the text itself where there is none."""
    decoder, at = json.JSONDecoder(), text.find("[")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at = text.find("[", at + 1)
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return text[at:end]
        at = text.find("[", end)
    return text
