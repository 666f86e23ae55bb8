"""The table of strategies. To add one: write `search/<name>.py` and add its two lines here."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, JsonValue

from kernelwright.errors import UsageError
from kernelwright.search.best_of_n import BestOfN, BestOfNConfig
from kernelwright.search.cudaforge import CudaForge, CudaForgeConfig
from kernelwright.search.direct import Direct, DirectConfig
from kernelwright.search.frontend_midend import FrontendMidend, FrontendMidendConfig
from kernelwright.search.fsr import Fsr, FsrConfig
from kernelwright.search.limits import Limits
from kernelwright.search.outside import Outside, OutsideConfig
from kernelwright.search.strategy import Strategy
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.table import make_tritongym

StrategyConfig = Annotated[
    BestOfNConfig | CudaForgeConfig | DirectConfig | FrontendMidendConfig | FsrConfig | OutsideConfig | TritonGymConfig,
    Field(discriminator="name"),
]
"""The configuration of any strategy; `name` says which."""

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "best_of_n": BestOfN,
    "cudaforge": CudaForge,
    "direct": Direct,
    "frontend_midend": FrontendMidend,
    "fsr": Fsr,
    "outside": Outside,
    "tritongym": make_tritongym,
}

VARIANTS: dict[str, str] = {"tritongym": "workflow", "cudaforge": "edit"}
"""The dial that a strategy's name may be spelled with on a command line: `tritongym:agent`, `cudaforge:current`."""


def spelled(text: str) -> dict[str, JsonValue]:
    """The settings of a strategy as a command line spells it; what they are worth, its configuration says.

    Raises:
        UsageError: there is no such strategy, or its name takes no variant.
    """
    name, colon, variant = text.partition(":")
    if name not in STRATEGIES:
        raise UsageError(f"strategy {name!r} must be one of {', '.join(STRATEGIES)}")
    if colon and name not in VARIANTS:
        raise UsageError(f"strategy {text!r}: only {' and '.join(VARIANTS)} take a variant after a colon")
    return {"name": name, VARIANTS[name]: variant} if colon else {"name": name}


def make_strategy(config: StrategyConfig, limits: Limits) -> Strategy:
    """A fresh strategy."""
    return STRATEGIES[config.name](config, limits)
