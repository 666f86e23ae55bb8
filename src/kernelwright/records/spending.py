"""Spending: what the dialogues of a run cost, by role, added up from the journal.

An unknown price stays unknown in every sum.
"""

from collections.abc import Iterable, Sequence

from kernelwright.records.attempt import Cost
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatReply
from kernelwright.records.run import BILLED, Turn


class Spending(Record):
    """What one role's calls to one model cost."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None: the price of a call is not known."""
    seconds: float
    """Seconds of waiting for the model, summed over calls."""


def spending(turns: Iterable[Turn]) -> tuple[Spending, ...]:
    """Every role's calls, in the order in which roles first spoke."""
    said: dict[tuple[str, str], list[ChatReply]] = {}
    for turn in turns:
        if turn.kind in BILLED:
            reply = ChatReply.model_validate_json(turn.text)
            said.setdefault((turn.role, reply.model), []).append(reply)
    return tuple(_sum(role, model, replies) for (role, model), replies in said.items())


def _sum(role: str, model: str, replies: Sequence[ChatReply]) -> Spending:
    prices = [reply.usd for reply in replies]
    return Spending(
        role=role,
        model=model,
        calls=len(replies),
        prompt_tokens=sum(reply.usage.prompt for reply in replies),
        completion_tokens=sum(reply.usage.completion for reply in replies),
        usd=None if None in prices else sum(price for price in prices if price is not None),
        seconds=sum(reply.seconds for reply in replies),
    )


def unbooked(said: Sequence[Turn], booked: Sequence[Cost]) -> Cost:
    """What an expansion's dialogues cost beyond what its attempts carry: lost replies, profiles and tools."""
    replies = [ChatReply.model_validate_json(turn.text) for turn in said if turn.kind in BILLED]
    return Cost(
        proposals=0,
        device_s=sum(turn.device_s for turn in said),
        tokens=sum(reply.usage.total for reply in replies) - sum(cost.tokens for cost in booked),
        usd=max(0.0, sum(reply.usd or 0.0 for reply in replies) - sum(cost.usd for cost in booked)),
    )
