"""The role `navigator`: of several steps that lead on in the graph of techniques, a model names the one to take.

It sees their names, what each gained elsewhere, and what holds the parent back. An answer that names none of them, or no
budget for one, leaves the first step standing, which is the one that earlier runs promise the most of.
"""

import json
import re
from dataclasses import replace

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.propose.gateway import NoRoom
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import WorkedStep
from kernelwright.records.chat import ChatMessage, ChatRequest
from kernelwright.records.evaluation import Measured

ROLE = "navigator"
TOKENS = 2_000
"""A name and a sentence: what a model thinks before is counted too."""


async def chosen(brief: Brief, sibling: int = 0) -> WorkedStep:
    """The step to take.

    Raises:
        ProposeError: no model serves the role.
        ModelError: it cannot be had.
    """
    steps = brief.proposal_request.steps
    if len(steps) == 1 or not brief.proposal_request.adviser:
        return steps[0]
    shown = {"choices": [{"technique": s.technique, "gained": s.effect, "why": s.think} for s in steps]}
    rendered = Prompts().render("navigator-apply-technique", {**shown, "bottleneck": await _bottleneck(brief, sibling)})
    messages = (ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user))
    request = ChatRequest(messages=messages, temperature=0.2, max_tokens=TOKENS, seed=brief.seed % (1 << 31))
    try:
        reply = await brief.gateway.ask(ROLE, request, sibling)
    except NoRoom:
        return steps[0]
    name = named(reply.text, [step.technique for step in steps])
    brief.gateway.note(ROLE, f"takes {name or steps[0].technique}", sibling)
    return next((step for step in steps if step.technique == name), steps[0])


def taking(brief: Brief, step: WorkedStep) -> Brief:
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


def named(text: str, techniques: list[str]) -> str:
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
