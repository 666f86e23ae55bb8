"""The table of strategies. To add one: write `search/<name>.py` and add its two lines here.

A distribution of somebody else brings one by an entry point that names its configuration (docs/plugins.md).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

from pydantic import Field, JsonValue, SerializeAsAny, ValidatorFunctionWrapHandler, WrapValidator

from kernelwright.errors import UsageError
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.records.base import Record
from kernelwright.search.best_of_n import BestOfN, BestOfNConfig
from kernelwright.search.cudaforge import CudaForge, CudaForgeConfig
from kernelwright.search.direct import Direct, DirectConfig
from kernelwright.search.frontend_midend import FrontendMidend, FrontendMidendConfig
from kernelwright.search.fsr import Fsr, FsrConfig
from kernelwright.search.limits import Limits
from kernelwright.search.outside import Outside, OutsideConfig
from kernelwright.search.strategy import PluginConfig, Strategy
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.table import make_tritongym

BuiltIn = Annotated[
    BestOfNConfig | CudaForgeConfig | DirectConfig | FrontendMidendConfig | FsrConfig | OutsideConfig | TritonGymConfig,
    Field(discriminator="name"),
]

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


def _read(given: object, built_in: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401  whatever the plug-in's class is
    """A plug-in's configuration by its own class, any other by the union of those that are built in."""
    name = given.get("name") if isinstance(given, Mapping) else getattr(given, "name", None)
    config = _plugged(name) if isinstance(name, str) and name not in STRATEGIES else None
    return config.model_validate(given) if config is not None else built_in(given)


def _plugged(name: str) -> type[Record] | None:
    found = load_plugin("strategies", name, _is_config)
    return cast("type[Record] | None", found)


def _is_config(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, Record) and callable(getattr(part, "strategy", None))


StrategyConfig = Annotated[SerializeAsAny[BuiltIn], WrapValidator(_read)]
"""The configuration of any strategy; `name` says which. A plug-in's is a `PluginConfig`, which the union cannot name."""


def strategy_names() -> tuple[str, ...]:
    """Every strategy, plug-ins' included."""
    return tuple(dict.fromkeys((*STRATEGIES, *plugin_names("strategies"))))


def spelled(text: str) -> dict[str, JsonValue]:
    """The settings of a strategy as a command line spells it; what they are worth, its configuration says.

    Raises:
        UsageError: there is no such strategy, or its name takes no variant.
    """
    name, colon, variant = text.partition(":")
    if name not in strategy_names():
        raise UsageError(f"strategy {name!r} must be one of {', '.join(strategy_names())}")
    if colon and name not in VARIANTS:
        raise UsageError(f"strategy {text!r}: only {' and '.join(VARIANTS)} take a variant after a colon")
    return {"name": name, VARIANTS[name]: variant} if colon else {"name": name}


def make_strategy(config: StrategyConfig, limits: Limits) -> Strategy:
    """A fresh strategy."""
    if config.name in STRATEGIES:
        return STRATEGIES[config.name](config, limits)
    return cast("PluginConfig", config).strategy(limits)
