"""Proposers by name, with their variants."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.propose.author.author import Author
from kernelwright.propose.llm.writer import LLM
from kernelwright.propose.table import make_proposer, proposer_names


@pytest.mark.parametrize(
    ("name", "kind"), [("author", Author), ("llm", LLM), ("llm:terse", LLM), ("llm:standard", LLM)]
)
def test_a_name_makes_its_proposer(name, kind):
    assert isinstance(make_proposer(name), kind)


@pytest.mark.parametrize("name", ["poet", "author:terse", "", "llm:loud", "llm:"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(UsageError, match="terse"):
        make_proposer(name)


def test_the_names_are_listed():
    assert proposer_names() == (
        "author",
        "inductor",
        "graph",
        "llm",
        "llm:standard",
        "llm:trained",
        "llm:edits",
        "llm:small",
        "llm:terse",
    )
