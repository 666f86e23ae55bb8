"""Crews: the models of a comparison, as its command line spells them.

As for one run, `ROLE=MODEL` serves that role and one bare `MODEL` all the others, in every arm. Several bare ones are
compared, each under its own name. `LABEL/ROLE=MODEL` serves a role of one crew alone, and `LABEL/default=MODEL` makes a
crew under a name of one's choice.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kernelwright.engine.crew import read_models
from kernelwright.errors import UsageError
from kernelwright.models.config import DEFAULT, ModelConfig, read_model

_LABELLED = re.compile(r"(?P<label>[^=@]+)/(?P<served>\w+=.+)")
_BARE = re.compile(r"(?!\w+=).*")


class Crews(NamedTuple):
    """Who speaks."""

    common: Mapping[str, ModelConfig]
    """Models by role, in every arm."""
    compared: Mapping[str, Mapping[str, ModelConfig]]
    """What each crew has of its own, by its label; empty: there is one crew, the common one."""


def read_crews(texts: Iterable[str]) -> Crews:
    """The crews of a comparison.

    Raises:
        UsageError: a model cannot be read, a role is unknown or named twice, or two crews have one name.
    """
    plain: list[str] = []
    own: dict[str, list[str]] = {}
    for text in texts:
        labelled = _LABELLED.fullmatch(text)
        if labelled:
            own.setdefault(labelled["label"], []).append(labelled["served"])
        else:
            plain.append(text)
    bare = [text for text in plain if _BARE.fullmatch(text)]
    if len(bare) > 1:
        plain = [text for text in plain if text not in bare]
        _name(bare, own)
    return Crews(read_models(plain), {label: read_models(texts) for label, texts in own.items()})


def _name(bare: list[str], own: dict[str, list[str]]) -> None:
    """Put each bare model under its own name, before what is named for that crew alone."""
    named = [(read_model(text).name, text) for text in bare]
    for label, text in named:
        if sum(label == other for other, _ in named) > 1:
            raise UsageError(
                f"two models are called {label!r}: tell them apart, such as --model here/{DEFAULT}={text} for each"
            )
        own[label] = [text, *own.get(label, ())]
