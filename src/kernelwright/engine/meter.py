"""Meter: tokens and money as they are spent, so that a hard cap holds while calls are in flight.

The ledger books what attempts cost in the order in which they are told; a cap must know sooner. Before each call its
upper bound is set aside, and whatever the call did not use is free again. A call that lacks what others hold waits for
them. Once nothing is held, its reply is given less room, and if hardly anything is left the call is not made.
"""

import asyncio
from typing import NamedTuple

from kernelwright.engine.budget import Budget
from kernelwright.models.config import ModelConfig
from kernelwright.models.estimate import FEWEST_BYTES_A_TOKEN, prompt_tokens
from kernelwright.models.prices import MILLION, Price, cost, price_of
from kernelwright.propose.desk import NoRoom
from kernelwright.records.chat import ChatReply, ChatRequest, Usage

LEAST = 256
"""Tokens of a reply below which asking is a waste of money."""
UNLIMITED = 1 << 60


class Hold(NamedTuple):
    """What is set aside for one call."""

    tokens: int
    usd: float


class Meter:
    """Everything that the run's calls cost so far, and what is set aside for those in flight."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.tokens = 0
        self.usd = 0.0
        self._holds: list[Hold] = []
        self._released = asyncio.Event()
        """Of the next hold; each has one of its own, so that whoever waits looks again exactly then."""

    async def fit(self, request: ChatRequest, config: ModelConfig) -> tuple[ChatRequest, Hold]:
        """The request with as much room for its reply as the budget pays for, and what was set aside.

        Whoever holds something must not ask again before it is released: calls wait for each other here.

        Raises:
            NoRoom: with nothing held by others, it does not pay for the prompt and `LEAST` tokens.
        """
        prompt, price = prompt_tokens(request, FEWEST_BYTES_A_TOKEN), price_of(config)
        while (room := self._room(request.max_tokens, prompt, price)) < request.max_tokens and self._holds:
            await self._released.wait()
        if room < min(LEAST, request.max_tokens):
            raise NoRoom
        hold = Hold(prompt + room, _cost(price, prompt, room) if price else 0.0)
        self._holds.append(hold)
        return request.model_copy(update={"max_tokens": room}), hold

    def release(self, hold: Hold) -> None:
        """The call is over, or was given up."""
        self._holds.remove(hold)
        released, self._released = self._released, asyncio.Event()
        released.set()

    def count(self, reply: ChatReply) -> None:
        """Book a reply."""
        self.tokens += reply.usage.total
        self.usd += reply.usd or 0.0

    def _room(self, wanted: int, prompt: int, price: Price | None) -> int:
        """Tokens of a reply that can be paid for now."""
        return min(wanted, self._tokens_left() - prompt, self._completion_paid(prompt, price))

    def _tokens_left(self) -> int:
        if self._budget.tokens is None:
            return UNLIMITED
        return self._budget.tokens - self.tokens - sum(hold.tokens for hold in self._holds)

    def _completion_paid(self, prompt: int, price: Price | None) -> int:
        """Tokens of a completion that the money left pays for, after the prompt."""
        if self._budget.usd is None or price is None:
            return UNLIMITED
        each = (_cost(price, prompt, MILLION) - _cost(price, prompt, 0)) / MILLION
        left = self._budget.usd - self.usd - sum(hold.usd for hold in self._holds) - _cost(price, prompt, 0)
        return int(left / each) if each else UNLIMITED if left >= 0 else 0


def _cost(price: Price, prompt: int, completion: int) -> float:
    return cost(price, Usage(prompt=prompt, completion=completion), written=prompt)
