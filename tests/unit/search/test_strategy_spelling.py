"""How a command line spells a strategy."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.search.table import spelled


def test_a_name_may_carry_its_main_dial():
    assert spelled("fsr") == {"name": "fsr"}
    assert spelled("tritongym:agent") == {"name": "tritongym", "workflow": "agent"}
    assert spelled("cudaforge:current") == {"name": "cudaforge", "edit": "current"}


@pytest.mark.parametrize(("text", "told"), [("fsr:x", "take a variant"), ("mcts", "must be one of direct")])
def test_what_is_unknown_is_said(text, told):
    with pytest.raises(UsageError, match=told):
        spelled(text)
