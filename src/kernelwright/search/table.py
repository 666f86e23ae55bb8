"""The table of strategies. To add one: write `search/<name>.py` and add its configuration here.

A distribution of somebody else brings one by an entry point that names its configuration (docs/plugins.md).
"""

from collections.abc import Mapping
from typing import Annotated, cast, get_args

from pydantic import BeforeValidator, JsonValue, SerializeAsAny

from kernelwright.errors import UsageError
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.search.cudaforge import CudaForgeConfig
from kernelwright.search.frontend_midend import FrontendMidendConfig
from kernelwright.search.fsr import FsrConfig
from kernelwright.search.independent import BestOfNConfig, DirectConfig
from kernelwright.search.outside import OutsideConfig
from kernelwright.search.regraph import ReGraphConfig
from kernelwright.search.strategy import StrategyConfig
from kernelwright.search.tritongym import TritonGymConfig

_CONFIGS: tuple[type[StrategyConfig], ...] = (
    DirectConfig,
    FsrConfig,
    CudaForgeConfig,
    TritonGymConfig,
    FrontendMidendConfig,
    ReGraphConfig,
    BestOfNConfig,
    OutsideConfig,
)
STRATEGIES: dict[str, type[StrategyConfig]] = {config.model_fields["name"].default: config for config in _CONFIGS}
"""Every built-in strategy's configuration by its name, in the order in which they are shown."""

DEFAULT: StrategyConfig = TritonGymConfig()
"""The strategy of a run that names none."""
BASELINE = DirectConfig().name
"""What a comparison of strategies with language models adds: answers without any feedback."""


def _validate(given: object) -> object:
    """The configuration that a setting's `name` says."""
    if not isinstance(given, Mapping):
        return given
    config = _find(str(given.get("name")))
    if config is None:
        raise ValueError(f"name must be one of {', '.join(_names())}")
    return config.model_validate(given)


def _find(name: str) -> type[StrategyConfig] | None:
    def is_config(part: object) -> bool:
        return isinstance(part, type) and issubclass(part, StrategyConfig)

    if name in STRATEGIES:
        return STRATEGIES[name]
    return cast("type[StrategyConfig] | None", load_plugin("strategies", name, is_config))


def _names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*STRATEGIES, *plugin_names("strategies"))))


AnyStrategy = Annotated[SerializeAsAny[StrategyConfig], BeforeValidator(_validate)]
"""A field for the configuration of any strategy; `name` says which."""


def listed() -> tuple[str, ...]:
    """The built-in names that people may choose."""
    return tuple(name for name, config in STRATEGIES.items() if config.listed)


def spellings() -> tuple[str, ...]:
    """Every built-in name, with each of its variants where it has any, as a command line spells them."""
    variants = {
        name: get_args(config.model_fields[config.variant].annotation) if config.variant else ("",)
        for name, config in STRATEGIES.items()
    }
    return tuple(f"{name}:{v}" if v else name for name, several in variants.items() for v in several)


def strategy_of(text: str) -> type[StrategyConfig]:
    """The configuration of a strategy as a command line spells it.

    Raises:
        UsageError: there is no such strategy.
    """
    name = text.partition(":")[0]
    config = _find(name)
    if config is None:
        raise UsageError(f"strategy {name!r} must be one of {', '.join(_names())}")
    return config


def spelled(text: str) -> dict[str, JsonValue]:
    """The settings of a strategy as a command line spells it; what they are worth, its configuration says.

    Raises:
        UsageError: there is no such strategy, or its name takes no variant.
    """
    name, colon, variant = text.partition(":")
    option = strategy_of(text).variant
    if colon and not option:
        taking = " and ".join(known for known, config in STRATEGIES.items() if config.variant)
        raise UsageError(f"strategy {text!r}: only {taking} take a variant after a colon")
    return {"name": name, option: variant} if colon else {"name": name}
