"""Dialogues for the report: what was said about each candidate, each message once.

A kept conversation repeats all of itself in every request, so only messages that are new in a request are taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall
from kernelwright.records.run import Turn

DRILL = "drill"
"""A model whose name begins so is a public fake that hands out faults; nothing it shows is a model's result."""


@dataclass(frozen=True)
class Said:
    """One message."""

    who: str
    """The role, and what kind of message it is."""
    text: str
    aside: str = ""
    """Tokens, seconds, why a reply ended."""


@dataclass(frozen=True)
class Dialogue:
    """What was said behind one candidate."""

    expansion: int
    sibling: int
    roles: tuple[str, ...]
    said: tuple[Said, ...]


def dialogues(turns: Sequence[Turn]) -> tuple[Dialogue, ...]:
    """Every dialogue, in the order of expansions and candidates."""
    threads: dict[tuple[int, int], list[Turn]] = {}
    for turn in turns:
        threads.setdefault((turn.expansion, turn.sibling), []).append(turn)
    return tuple(_dialogue(at, threads[at]) for at in sorted(threads))


def is_drill(turns: Sequence[Turn]) -> bool:
    """Whether a public fake answered."""
    return any(t.kind == "reply" and ChatReply.model_validate_json(t.text).model.startswith(DRILL) for t in turns)


def _dialogue(at: tuple[int, int], turns: Sequence[Turn]) -> Dialogue:
    roles = tuple(dict.fromkeys(turn.role for turn in turns))
    return Dialogue(*at, roles, tuple(said for turn in turns for said in _said(turn)))


def _said(turn: Turn) -> list[Said]:
    match turn.kind:
        case "prompt":
            return _prompt(turn)
        case "reply":
            return [_reply(turn)]
        case "call":
            return [_call(turn)]
        case "lost":
            return [replace(_reply(turn), text="No answer came, and it was billed all the same.")]
        case "no_room":
            return [Said(turn.role, "", "the budget did not pay for another call")]
    aside = f"{turn.device_s:.2f} s" if turn.device_s else ""
    return [Said(f"{turn.role}: {turn.kind}", turn.text, aside)]


def _prompt(turn: Turn) -> list[Said]:
    """The messages since the model spoke last, with the system's if it never has."""
    messages = ChatRequest.model_validate_json(turn.text).messages
    spoke = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
    before = [Said(f"to {turn.role}", "", f"{spoke + 1} earlier messages, as above")] if spoke >= 0 else []
    return before + [Said(f"to {turn.role}: {m.role}", m.text) for m in messages[spoke + 1 :]]


def _reply(turn: Turn) -> Said:
    reply = ChatReply.model_validate_json(turn.text)
    calls = "".join(f"\n{call.name}({call.arguments})" for call in reply.calls)
    price = "price unknown" if reply.usd is None else f"${reply.usd:.4f}"
    aside = f"{reply.model}, {reply.usage.prompt} + {reply.usage.completion} tokens, {price}, {reply.finish}"
    return Said(f"from {turn.role}", reply.text + calls, aside)


def _call(turn: Turn) -> Said:
    try:
        call = ToolCall.model_validate_json(turn.text)
    except ValidationError:
        return Said(f"{turn.role}: call", turn.text)
    return Said(f"{turn.role}: call of {call.name}", call.arguments)
