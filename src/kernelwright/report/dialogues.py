"""Dialogues for the report: what was said about each candidate, each message once.

A kept conversation repeats all of itself in every request, so only messages that are new in a request are taken.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from kernelwright.records.chat import ChatReply, ChatRequest, ToolCall
from kernelwright.records.run import Message, Spending

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

    proposal_request: int
    sibling: int
    roles: tuple[str, ...]
    said: tuple[Said, ...]


def dialogues(messages: Sequence[Message]) -> tuple[Dialogue, ...]:
    """Every dialogue, in the order of proposal requests and candidates."""
    threads: dict[tuple[int, int], list[Message]] = {}
    for message in messages:
        threads.setdefault((message.proposal_request, message.sibling), []).append(message)
    return tuple(_dialogue(at, threads[at]) for at in sorted(threads))


def is_drill(spent: Iterable[Spending]) -> bool:
    """Whether a public fake answered."""
    return any(one.model.startswith(DRILL) for one in spent)


def _dialogue(at: tuple[int, int], messages: Sequence[Message]) -> Dialogue:
    roles = tuple(dict.fromkeys(message.role for message in messages))
    return Dialogue(*at, roles, tuple(said for message in messages for said in _said(message)))


def _said(message: Message) -> list[Said]:
    match message.kind:
        case "prompt":
            return _prompt(message)
        case "reply":
            return [_reply(message)]
        case "call":
            return [_call(message)]
        case "lost":
            return [replace(_reply(message), text="No answer came; this is what was, or may have been, billed for it.")]
        case "no_room":
            return [Said(message.role, "", "the budget did not pay for another call")]
    aside = f"{message.device_s:.2f} s" if message.device_s else ""
    return [Said(f"{message.role}: {message.kind}", message.text, aside)]


def _prompt(message: Message) -> list[Said]:
    """The messages since the model spoke last, with the system's if it never has."""
    messages = ChatRequest.model_validate_json(message.text).messages
    spoke = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
    before = [Said(f"to {message.role}", "", f"{spoke + 1} earlier messages, as above")] if spoke >= 0 else []
    return before + [Said(f"to {message.role}: {m.role}", m.text) for m in messages[spoke + 1 :]]


def _reply(message: Message) -> Said:
    reply = ChatReply.model_validate_json(message.text)
    calls = "".join(f"\n{call.name}({call.arguments})" for call in reply.calls)
    price = "price unknown" if reply.usd is None else f"${reply.usd:.4f}"
    aside = f"{reply.model}, {reply.usage.prompt} + {reply.usage.completion} tokens, {price}, {reply.finish}"
    return Said(f"from {message.role}", reply.text + calls, aside)


def _call(message: Message) -> Said:
    try:
        call = ToolCall.model_validate_json(message.text)
    except ValidationError:
        return Said(f"{message.role}: call", message.text)
    return Said(f"{message.role}: call of {call.name}", call.arguments)
