"""Forecast: what the models of a run will cost, said before the first call.

Decides what a usual call is like. A guess for people, in round figures; what holds is the budget's hard caps.
"""

from kernelwright.engine.config import RunConfig
from kernelwright.models.config import DEFAULT, ModelConfig
from kernelwright.models.estimate import tokens_in
from kernelwright.models.prices import cost, price_of
from kernelwright.records.chat import Usage
from kernelwright.records.task import Task

ADVISED = ("cudaforge",)
"""Strategies that ask an adviser before almost every kernel."""
FRAME_TOKENS = 2500
"""Of a usual prompt beside the task: rules, hardware, a kernel with what became of it."""
REPLY_TOKENS = 2500
"""Of a usual reply; a model that thinks aloud has several times as many."""


def forecast(config: RunConfig, task: Task) -> str:
    """One sentence: calls, tokens and money if every proposal of the budget is asked for."""
    calls = config.budget.proposals
    usage = Usage(prompt=calls * (FRAME_TOKENS + tokens_in(task.source.source)), completion=calls * REPLY_TOKENS)
    asked = [config.models[role] for role in sorted(config.models, key=lambda role: role != DEFAULT)]
    advisers = ", and about as much again for an adviser" if config.strategy.name in ADVISED else ""
    money = _money(asked[0], usage)
    return f"models: about {calls} calls, {_round(usage.total):,} tokens, {money}{advisers}"


def _money(model: ModelConfig, usage: Usage) -> str:
    price = price_of(model)
    if price is None:
        return f"the price of {model.name} is not known"
    usd = cost(price, usage)
    return f"${usd:.2f}" if usd else "free of charge"


def _round(tokens: int) -> int:
    return int(float(f"{tokens:.1e}"))
