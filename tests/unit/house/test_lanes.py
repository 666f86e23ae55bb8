"""Parameters of a matrix keep their values, and get the markers of their lanes."""

from lanes import sampled


def marks(parameter):
    return {mark.name for mark in parameter.marks}


def test_what_is_no_sample_belongs_to_the_matrix_and_what_is_quiet_runs_alone():
    cases = sampled(["a", "b"], lambda name: name == "a", lambda name: name == "b")
    assert [case.values for case in cases] == [("a",), ("b",)]
    assert [marks(case) for case in cases] == [set(), {"matrix", "quiet"}]


def test_a_case_may_have_several_arguments():
    cases = sampled([("a", 1), ("a", 2)], lambda name, number: number == 1)
    assert [case.values for case in cases] == [("a", 1), ("a", 2)]
    assert [marks(case) for case in cases] == [set(), {"matrix"}]
