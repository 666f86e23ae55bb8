"""What tokens cost: a table of prices, and the arithmetic.

Nothing is guessed: a model without a row has no price, and says so. Prices age; the user's own file, named by
KERNELWRIGHT_PRICES, comes before ours.
"""

import os
import re
import tomllib
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError

from kernelwright.errors import UsageError
from kernelwright.models.config import ModelConfig, is_loopback
from kernelwright.records.base import Record
from kernelwright.records.chat import Usage

VARIABLE = "KERNELWRIGHT_PRICES"
_VENDOR = re.compile(r"\A.*/")
_DATED = re.compile(r"(?:-20\d\d-\d\d-\d\d|[-@]20\d{6}|-latest)\Z")
MILLION = 1_000_000


class Price(Record):
    """USD for a million tokens of one model."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    """With the reasoning's."""
    cached: float | None = Field(default=None, ge=0)
    """Input that was read from the endpoint's cache. None: as input."""
    written: float | None = Field(default=None, ge=0)
    """Input that was written to the endpoint's cache. None: as input."""
    long_after: int | None = None
    """Prompts of more tokens than this pay the prices below, for all of the call."""
    long_input: float = Field(default=0.0, ge=0)
    long_output: float = Field(default=0.0, ge=0)
    checked: date | None = None
    """When somebody last looked."""
    source: str = ""


FREE = Price(input=0.0, output=0.0, cached=0.0)


def price_of(config: ModelConfig) -> Price | None:
    """The price of a model; free when it runs on this machine and no table has it; None when it is not known.

    A server elsewhere on a private network may be a relay to one that costs money: nothing is guessed of it.

    Raises:
        UsageError: the user's own price file cannot be read.
    """
    if config.provider in {"huggingface", "replay"}:
        return FREE
    found = find_price(config.name)
    if found is None and is_loopback(address_of(config)):
        return FREE
    return found


def address_of(config: ModelConfig) -> str:
    """Where a configuration's requests go; empty for the provider's own place."""
    variable = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}.get(config.provider, "")
    return config.base_url or os.environ.get(variable, "")


def find_price(model: str) -> Price | None:
    """The row of a model's name: as it is, without its vendor, without its date."""
    names = (model, _VENDOR.sub("", model))
    for table in (_users(os.environ.get(VARIABLE, "")), _shipped()):
        for name in (*names, *(_DATED.sub("", name) for name in names)):
            if found := table.get(name.lower()):
                return found
    return None


def cost(price: Price, usage: Usage, written: int = 0) -> float:
    """USD of one call; `written` tokens of its prompt went into the endpoint's cache."""
    if price.long_after is not None and usage.prompt > price.long_after:
        return (usage.prompt * price.long_input + usage.completion * price.long_output) / MILLION
    cached = min(usage.cached, usage.prompt)
    written = min(written, usage.prompt - cached)
    plain = usage.prompt - cached - written
    reduced = price.input if price.cached is None else price.cached
    raised = price.input if price.written is None else price.written
    paid = plain * price.input + cached * reduced + written * raised + usage.completion * price.output
    return paid / MILLION


@cache
def _shipped() -> dict[str, Price]:
    return _read(files("kernelwright.models").joinpath("prices.toml").read_text(encoding="utf-8"))


@cache
def _users(path: str) -> dict[str, Price]:
    if not path:
        return {}
    try:
        return _read(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise UsageError(
            f"the price file {path} ({VARIABLE}) cannot be read: {error}. "
            'It has tables such as ["my-model"] with input and output, in USD for a million tokens'
        ) from None


def _read(text: str) -> dict[str, Price]:
    return {name.lower(): Price(**row) for name, row in tomllib.loads(text).items()}
