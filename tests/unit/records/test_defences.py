"""What a policy's disabled defences come to."""

import pytest
from pydantic import ValidationError

from kernelwright.evaluate.sandbox.jail import LOST
from kernelwright.records.defences import DEFENCES, Defences, defences_without
from kernelwright.records.policy import Policy


def test_all_are_on_but_those_that_a_policy_disables():
    assert Policy().defences == Defences()
    off = Policy(disabled=("poison", "network")).defences
    assert (off.poison, off.network, off.guard) == (False, False, True)
    assert Policy(disabled=("poison",)).model_copy(update={"disabled": ()}).defences.poison


def test_each_says_what_it_is_and_names_parts_of_the_sandbox():
    assert all(row["what"] for row in DEFENCES.values())
    assert {part for row in DEFENCES.values() for part in row["sandbox"]} <= {*LOST, "limits"}
    assert defences_without(("reference_hidden", "limits")).sandbox_off == (
        "limits",
        "namespaces",
        "landlock",
        "nobody",
    )


def test_outputs_of_a_comparator_that_is_off_are_not_looked_at():
    off = defences_without(("set",))
    assert [off.compares(kind) for kind in ("set", "exact", "calibrated")] == [False, True, True]


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(ValidationError, match="'fresh_inputs', 'random_parameters'"):
        Policy(disabled=("honesty",))
