"""Every proposer by name. To add one: a module with a class, and a line here.

`NAME:VARIANT` picks one of a proposer's variants, such as other prompts. A distribution of somebody else brings a
proposer by an entry point (docs/plugins.md).
"""

from collections.abc import Callable, Mapping
from typing import cast

from kernelwright.errors import UsageError
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.propose.author.author import Author
from kernelwright.propose.graph_writer import GraphWriter
from kernelwright.propose.inductor.inductor import Inductor
from kernelwright.propose.llm.render import variants
from kernelwright.propose.llm.writer import LLM
from kernelwright.propose.proposer import Proposer
from kernelwright.propose.team import TOGETHER, Team

PROPOSERS: Mapping[str, Callable[[], Proposer]] = {
    "author": Author,
    "inductor": Inductor,
    "graph": GraphWriter,
    "llm": LLM,
}
VARIED: Mapping[str, Callable[[str], Proposer]] = {"llm": LLM}
"""Those that have variants."""


def make_proposer(name: str) -> Proposer:
    """The proposer of that name: `author`, `inductor`, `llm` or `llm:VARIANT`, or a plug-in's; with `+`, a team of several.

    Raises:
        UsageError: there is no such proposer or variant, or the plug-in that brings it is broken.
    """
    if TOGETHER in name:
        return Team({one: make_proposer(one) for one in name.split(TOGETHER)})
    plain, colon, variant = name.partition(":")
    if plain in PROPOSERS and (not colon or plain in VARIED):
        return VARIED[plain](variant) if colon else PROPOSERS[plain]()
    make = load_plugin("proposers", name) if plain not in PROPOSERS else None
    if make is None:
        raise UsageError(f"proposer {name!r} must be one of {', '.join(proposer_names())}")
    return cast("Proposer", make())


def proposer_names() -> tuple[str, ...]:
    """Every name that `make_proposer` takes."""
    varied = (f"{name}:{variant}" for name in VARIED for variant in variants())
    return tuple(dict.fromkeys((*PROPOSERS, *varied, *plugin_names("proposers"))))
