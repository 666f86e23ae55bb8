"""Every proposer by name. To add one: a module with a class, and a line here."""

from collections.abc import Callable, Mapping

from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Proposer

PROPOSERS: Mapping[str, Callable[[], Proposer]] = {
    "author": Author,
}
