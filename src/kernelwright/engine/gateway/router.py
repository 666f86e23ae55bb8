"""ModelRouter: which model serves which role of a run.

`default` serves every role that has no model of its own. Equal configurations share one client.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from kernelwright.engine.config import RunConfig
from kernelwright.errors import ProposeError, UsageError
from kernelwright.models.config import DEFAULT, ModelConfig, read_model
from kernelwright.models.prices import price_of
from kernelwright.models.table import ChatModel
from kernelwright.pages import page
from kernelwright.propose.team import TOGETHER
from kernelwright.records.attempt import ROLES


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
