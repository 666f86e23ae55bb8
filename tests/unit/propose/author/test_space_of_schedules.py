"""Dials, turns and hints."""

import pytest

from kernelwright.propose.author.families.rows.schedule import CppSchedule
from kernelwright.propose.author.ir.space import Move, Option, Space

SPACE = Space(
    CppSchedule, (Option("stores", ("plain", "streaming"), "memory"), Option("block", (1024, 4096), "memory"))
)


def test_turns_are_every_single_change():
    assert {t.name for t in SPACE.moves(CppSchedule())} == {"stores=streaming", "block=1024"}


def test_a_value_outside_the_record_cannot_be_turned_to():
    with pytest.raises(ValueError, match="stores"):
        SPACE.turned(CppSchedule(), Move("stores", "sideways"))


@pytest.mark.parametrize("hint", ["streaming-stores", "streaming", "use streaming stores", "stores=streaming"])
def test_hints_name_values(hint):
    assert SPACE.named(hint) == Move("stores", "streaming")


def test_other_words_name_nothing():
    assert SPACE.named("shared memory tiling") is None
