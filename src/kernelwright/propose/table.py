"""Every proposer by name. To add one: a module with a class, and a line here.

`NAME:VARIANT` picks one of a proposer's variants, such as other prompts.
"""

from collections.abc import Callable, Mapping

from kernelwright.errors import UsageError
from kernelwright.propose.author.author import Author
from kernelwright.propose.llm.render import variants
from kernelwright.propose.llm.writer import LLM
from kernelwright.propose.proposer import Proposer

PROPOSERS: Mapping[str, Callable[[], Proposer]] = {
    "author": Author,
    "llm": LLM,
}
VARIED: Mapping[str, Callable[[str], Proposer]] = {"llm": LLM}
"""Those that have variants."""


def make_proposer(name: str) -> Proposer:
    """The proposer of that name: `author`, `llm` or `llm:VARIANT`.

    Raises:
        UsageError: there is no such proposer or variant.
    """
    plain, colon, variant = name.partition(":")
    if plain not in PROPOSERS or (colon and plain not in VARIED):
        raise UsageError(f"proposer {name!r} must be one of {', '.join(proposer_names())}")
    return VARIED[plain](variant) if colon else PROPOSERS[plain]()


def proposer_names() -> tuple[str, ...]:
    """Every name that `make_proposer` takes."""
    return (*PROPOSERS, *(f"{name}:{variant}" for name in VARIED for variant in variants()))
