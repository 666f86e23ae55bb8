"""The adviser's step: a judge or a reflector is asked first, for one thing to do.

`SHOWN` lists the sections that an adviser sees. Without usable advice the writer continues alone; either way the
diagnosis is journaled before it is acted on.
"""

from kernelwright.propose.llm.advice import NoAdvice, read_judgement, read_reflection
from kernelwright.propose.llm.dialogue import Dialogue, ask_twice, opening
from kernelwright.propose.llm.render import Prompts, Rendered, Value
from kernelwright.propose.llm.sections import Facts, evidence, known, metrics_shown
from kernelwright.records.chat import ChatReply

REFLECTOR = "reflector"
"""Answers in words; every other adviser answers in JSON."""
SHOWN = {
    "judge-repair": ("reference", "candidate", "log", "mismatch"),
    "judge-improve": ("reference", "hardware", "candidate", "profile", "log", "mismatch"),
    "reflector-repair": ("task", "reference", "candidate", "log", "mismatch"),
    "reflector-improve": ("task", "reference", "hardware", "candidate", "profile", "log", "mismatch"),
}
"""The sections of each prompt, beside the hint."""


async def advise(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> str:
    """The adviser's words for the writer; empty when they cannot be used.

    Raises:
        NoRoom, ModelError, ProposeError: as `Desk.ask`.
    """
    role = facts.brief.expansion.adviser
    name = f"{role}-{'repair' if facts.brief.expansion.intent == 'repair' else 'improve'}"
    contract = "parts/reply-reflector.md" if role == REFLECTOR else f"parts/reply-{name}.md"
    rendered = prompts.render(name, {**_values(name, facts), "contract": contract})
    dialogue.prompts.append(rendered)

    def again(found: str | NoAdvice) -> Rendered | None:
        if isinstance(found, str):
            return None
        return prompts.render("again", {"problem": found.reason, "contract": contract})

    # Without room for the second question there is none for the writer either: NoRoom ends the dialogue.
    advice = await ask_twice(dialogue, role, opening(rendered), lambda reply: _read(reply, facts), again)
    told = f"No usable advice: {advice.reason}." if isinstance(advice, NoAdvice) else advice
    facts.brief.desk.note(role, told, dialogue.sibling)
    return "" if isinstance(advice, NoAdvice) else advice


def _read(reply: ChatReply, facts: Facts) -> str | NoAdvice:
    expansion = facts.brief.expansion
    if expansion.adviser == REFLECTOR:
        return read_reflection(reply)
    return read_judgement(reply, expansion.intent, metrics_shown(facts))


def _values(name: str, facts: Facts) -> dict[str, Value]:
    every = {**known(facts), **evidence(facts)}
    return {key: every[key] for key in (*SHOWN.get(name, tuple(every)), "hint")}
