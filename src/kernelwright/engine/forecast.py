"""Forecast: what the models of a run will cost, estimated before the first call.

It multiplies usual calls by how often a strategy asks which role. It is a guess for people, in round figures; the
budget's hard caps are what holds.
"""

from dataclasses import dataclass

from kernelwright.engine.config import RunConfig
from kernelwright.engine.crew import asks_models, serving
from kernelwright.models.config import ModelConfig
from kernelwright.models.estimate import tokens_in
from kernelwright.models.prices import cost, price_of
from kernelwright.records.chat import Usage
from kernelwright.records.task import Task, TaskSource
from kernelwright.search.strategy import ExpectedCalls

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
