"""The table of strategies. To add one: write `search/<name>.py` and add its two lines here."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from kernelwright.search.best_of_n import BestOfN, BestOfNConfig
from kernelwright.search.limits import Limits
from kernelwright.search.strategy import Strategy
from kernelwright.search.tritongym import TritonGym, TritonGymConfig

StrategyConfig = Annotated[BestOfNConfig | TritonGymConfig, Field(discriminator="name")]
"""The configuration of any strategy; `name` says which."""

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "best_of_n": BestOfN,
    "tritongym": TritonGym,
}


def make_strategy(config: StrategyConfig, limits: Limits) -> Strategy:
    """A fresh strategy."""
    return STRATEGIES[config.name](config, limits)
