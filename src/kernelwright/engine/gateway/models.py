"""Which model serves which role of a run, and what the models cost: estimated before the first call, metered as it is spent.

`default` serves every role that has no model of its own. Equal configurations share one client.

The account books what attempts cost in the order in which they are told; a hard cap must know sooner. Before each call
its upper bound is set aside, and whatever the call did not use is free again. A call that lacks what others hold waits
for them. Once nothing is held, its reply is given less room, and if hardly anything is left the call is not made.

The estimate multiplies usual calls by how often a strategy asks which role. It is a guess for people, in round figures;
the caps are what holds.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kernelwright.engine.budget import Budget
from kernelwright.engine.config import RunConfig
from kernelwright.errors import ProposeError, UsageError
from kernelwright.models.answer import FEWEST_BYTES_A_TOKEN, prompt_tokens, tokens_in
from kernelwright.models.config import DEFAULT, ModelConfig, read_model
from kernelwright.models.prices import MILLION, Price, cost, price_of
from kernelwright.models.table import ChatModel
from kernelwright.pages import page
from kernelwright.propose.proposer import NoRoom
from kernelwright.propose.team import TOGETHER
from kernelwright.records.attempt import ROLES
from kernelwright.records.chat import ChatReply, ChatRequest, Usage
from kernelwright.records.task import Task, TaskSource
from kernelwright.search.strategy import ExpectedCalls


class ModelRouter:
    """Models by role, each opened once."""

    def __init__(self, configs: Mapping[str, ModelConfig], make: Callable[[ModelConfig], ChatModel]) -> None:
        self._configs = configs
        self._make = make
        self._open: dict[str, ChatModel] = {}

    def config(self, role: str) -> ModelConfig:
        """The configuration of the model that serves a role.

        Raises:
            ProposeError: none does.
        """
        found = serving(self._configs, role)
        if found is None:
            raise ProposeError(
                f"no model serves the role {role!r}: name one with --model openai:NAME or --model {role}=openai:NAME"
            )
        return found

    def model(self, role: str) -> ChatModel:
        """The model that serves a role.

        Raises:
            ProposeError: none does.
        """
        config = self.config(role)
        key = config.model_dump_json()
        if key not in self._open:
            self._open[key] = self._make(config)
        return self._open[key]

    def check_prices(self) -> None:
        """A cap in money holds only where every price is known.

        Raises:
            UsageError: the price of a model is not.
        """
        unknown = sorted({c.name for c in self._configs.values() if price_of(c) is None})
        if unknown:
            raise UsageError(
                f"--max-usd cannot hold: the price of {', '.join(unknown)} is not known. Use --max-tokens, or add the "
                "price to the file that KERNELWRIGHT_PRICES names, with input = 0 and output = 0 where it costs nothing "
                f"({page('models.md')})"
            )

    async def close(self) -> None:
        """Close every model that was opened."""
        await asyncio.gather(*(model.close() for model in self._open.values()))
        self._open.clear()


def serving(configs: Mapping[str, ModelConfig], role: str) -> ModelConfig | None:
    """The configuration that serves a role; None where none does."""
    return configs.get(role) or configs.get(DEFAULT)


def asks_models(config: RunConfig) -> bool:
    """Whether a proposer of a run asks models at all."""
    return any(name.partition(":")[0] == "llm" for name in config.proposer.split(TOGETHER))


def read_models(texts: Iterable[str]) -> dict[str, ModelConfig]:
    """Models by role: `ROLE=MODEL` serves that role, a bare `MODEL` every role without one of its own.

    Raises:
        UsageError: a model cannot be read, a role is unknown or named twice.
    """
    found: dict[str, ModelConfig] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        role, model = (before, after) if equals and before.isidentifier() else (DEFAULT, text)
        if role not in (*ROLES, DEFAULT):
            raise UsageError(f"no role is called {role!r}: name a model for one of {', '.join(ROLES)}, or for all")
        if role in found:
            raise UsageError(f"two models are named for the role {role!r}: name one")
        found[role] = read_model(model)
    return found


def open_router(config: RunConfig, make: Callable[[ModelConfig], ChatModel]) -> ModelRouter:
    """The router of a run; where the proposer needs models, they are opened at once, so that a missing key is said at once.

    Raises:
        UsageError: the proposer needs a model and none is named or it cannot be had, or a cap in money cannot be held.
    """
    asking = asks_models(config)
    if asking and not config.models:
        raise UsageError(f"the proposer 'llm' needs a model: name one with --model PROVIDER:NAME ({page('models.md')})")
    capped = config.budget.tokens is not None or config.budget.usd is not None
    router = ModelRouter({role: one.model_copy(update={"capped": capped}) for role, one in config.models.items()}, make)
    if config.budget.usd is not None:
        router.check_prices()
    for role in config.models if asking else ():
        router.model(role)
    return router


FRAME_TOKENS = 2500
"""Of a usual prompt beside the task: rules, hardware, a kernel with what became of it."""
REPLY_TOKENS = 2500
"""Of a usual reply; a model that thinks aloud has several times as many."""
AGENT_REPLIES = 8
"""Of an agent for one kernel: half of what it may."""
KEPT_TOKENS = 60_000
"""Most of an earlier conversation that stands in a prompt."""


@dataclass(frozen=True)
class Estimate:
    """What is asked of models, as far as anybody can tell before. Estimates add up: `sum(estimates, Estimate())`."""

    calls: int = 0
    tokens: int = 0
    """Prompts and replies."""
    usd: float | None = 0.0
    """None: the price of a model is not known."""
    unpriced: tuple[str, ...] = ()
    """The names of those models, sorted."""

    def __add__(self, other: "Estimate") -> "Estimate":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        unpriced = tuple(sorted({*self.unpriced, *other.unpriced}))
        return Estimate(self.calls + other.calls, self.tokens + other.tokens, usd, unpriced)

    def words(self) -> str:
        """Calls, tokens and money: `about 12 calls, 72,000 tokens, $0.41`."""
        calls = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        return f"about {calls}, {_round(self.tokens):,} tokens, {self._money()}"

    def _money(self) -> str:
        if self.usd is None:
            return f"the price of {', '.join(self.unpriced)} is not known"
        return f"${self.usd:.2f}" if self.usd else "free of charge"


def forecast(config: RunConfig, task: Task) -> str:
    """One sentence: calls, tokens and money if every proposal of the budget is asked for; empty where no model is asked."""
    expected = estimate(config, task)
    return f"models: {expected.words()}" if expected.calls else ""


def estimate(config: RunConfig, task: Task | TaskSource) -> Estimate:
    """What a run costs if every proposal of the budget is asked for; nothing where its proposer asks no model."""
    if not asks_models(config):
        return Estimate()
    source = task.source if isinstance(task, Task) else task
    prompt = FRAME_TOKENS + tokens_in(source.source)
    dialogues = config.predictor.oversample if config.predictor else 1
    expected = config.strategy.expected_calls(config.budget.proposals)
    served = ((asked, serving(config.models, asked.role)) for asked in expected if asked.calls)
    return sum((_of(asked, model, prompt, dialogues) for asked, model in served if model), Estimate())


def _of(asked: ExpectedCalls, model: ModelConfig, prompt: int, dialogues: int) -> Estimate:
    replies = AGENT_REPLIES if asked.tools else 1
    calls, price = asked.calls * replies * dialogues, price_of(model)
    exchange = REPLY_TOKENS if asked.tools else FRAME_TOKENS + REPLY_TOKENS
    earlier = _earlier(asked.conversation * replies, exchange)
    usage = Usage(prompt=prompt + earlier, completion=REPLY_TOKENS)
    if price is None:
        return Estimate(calls, calls * usage.total, None, (model.name,))
    return Estimate(calls, calls * usage.total, calls * cost(price, usage))


def _earlier(exchanges: int, tokens: int) -> int:
    """The mean length of what was said before, over a conversation of that many exchanges."""
    return sum(min(before * tokens, KEPT_TOKENS) for before in range(exchanges)) // exchanges


def _round(tokens: int) -> int:
    return int(float(f"{tokens:.1e}"))


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

    @staticmethod
    def most(request: ChatRequest, config: ModelConfig) -> tuple[Usage, float | None]:
        """What a call costs at most, as it is set aside: so a call counts whose answer nobody heard."""
        prompt, price = prompt_tokens(request, FEWEST_BYTES_A_TOKEN), price_of(config)
        usage = Usage(prompt=prompt, completion=request.max_tokens, estimated=True)
        return usage, _cost(price, prompt, request.max_tokens) if price else None

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
