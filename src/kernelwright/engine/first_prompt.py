"""The first question of a run to its models: the very messages that would be sent, with their tokens; nobody is asked.

It is a run like any other, in a folder that is thrown away, whose models write down what they are asked and do not answer.
So nothing can differ from what `optimize` sends.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kernelwright.engine import session
from kernelwright.engine.config import LLM, RunConfig
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import ModelError
from kernelwright.models.answer import prompt_tokens
from kernelwright.models.config import DEFAULT, ModelConfig
from kernelwright.models.prices import MILLION, price_of
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatReply, ChatRequest

NOBODY = ModelConfig(name="nobody")
"""Stands where no model is named: the messages do not depend on it."""


class FirstPrompt(Record):
    """One question."""

    model: str
    """Whom it is for; empty: no model was named."""
    request: ChatRequest
    tokens: int
    """Of the messages, about."""
    usd: float | None = None
    """What these tokens cost, without a reply; None: the price is not known."""


class _Recorder:
    """A model that writes down what it is asked."""

    def __init__(self, config: ModelConfig, heard: list[FirstPrompt]) -> None:
        self._config, self._heard = config, heard
        self.name = config.name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Write it down; raises ModelError, which ends the run."""
        tokens, named = prompt_tokens(request), self.name != NOBODY.name
        price = price_of(self._config) if named else None
        usd = None if price is None else price.input * tokens / MILLION
        self._heard.append(FirstPrompt(model=self.name if named else "", request=request, tokens=tokens, usd=usd))
        raise ModelError("nobody is asked")

    async def close(self) -> None:
        """Nothing is held."""


async def first_prompts(request: OptimizeRequest, suppliers: Suppliers) -> tuple[FirstPrompt, ...]:
    """The questions that a run would ask first: several where its strategy asks for several kernels at once.

    Raises:
        KernelwrightError: the run could not begin, or broke before it asked.
    """
    heard: list[FirstPrompt] = []
    parts = replace(suppliers, model=lambda config: _Recorder(config, heard), states=lambda: None)
    with TemporaryDirectory(prefix="kernelwright-") as folder:
        result = await session.begin(replace(request, config=_asking(request.config), runs=Path(folder)), parts)
    if result.error is not None and not heard:
        raise result.error
    return tuple(heard)


def _asking(config: RunConfig) -> RunConfig:
    """The configuration with somebody to ask, where nobody is named."""
    if config.models:
        return config
    fields = {name: getattr(config, name) for name in config.model_fields_set}
    return RunConfig.model_validate(fields | {"models": {DEFAULT: NOBODY}, "proposer": LLM})
