"""The contract of a language, for others than the prompts."""

from typing import get_args

import pytest

from kernelwright.propose.llm.contract import contract
from kernelwright.propose.llm.kernel_text import Kernel
from kernelwright.propose.llm.parse import parse
from kernelwright.records.candidate import FENCES, Language
from kernelwright.records.chat import ChatReply


@pytest.mark.parametrize("language", get_args(Language))
def test_a_contract_tells_what_is_asked_for_and_shows_it(language):
    words, _, example = contract(language).partition(f"```{FENCES[language]}\n")
    assert words.startswith("One complete ")
    assert isinstance(parse(ChatReply(text=f"```\n{example}", model="m"), language), Kernel)
