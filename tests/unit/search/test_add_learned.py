"""What a strategy leaves for later runs: whoever merges first, nothing that was learned is lost."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.search.strategy import add_learned

COUNTS = st.recursive(
    st.integers(-1000, 1000),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
GRAPHS = st.dictionaries(st.sampled_from("abcd"), st.dictionaries(st.sampled_from("xyz"), st.integers(0, 99)))


def learned(begun, more):
    """The state of a run that saw `more` beside what it began with."""
    return {
        node: {
            edge: begun.get(node, {}).get(edge, 0) + more.get(node, {}).get(edge, 0)
            for edge in {**begun.get(node, {}), **more.get(node, {})}
        }
        for node in {**begun, **more}
    }


@given(begun=GRAPHS, runs=st.lists(GRAPHS, min_size=1, max_size=3))
def test_runs_that_began_alike_add_up_in_any_order(begun, runs):
    together = begun
    for more in runs:
        together = learned(together, more)
    for order in itertools.permutations(runs):
        stored = begun
        for more in order:
            stored = add_learned(stored, begun, learned(begun, more))
        assert stored == together


@given(state=COUNTS)
def test_the_first_run_leaves_what_it_knows(state):
    assert add_learned(None, None, state) == state


@given(stored=COUNTS, begun=COUNTS)
def test_a_run_that_learned_nothing_changes_nothing(stored, begun):
    assert add_learned(stored, stored, stored) == stored
    assert add_learned({"a": stored}, {}, {}) == {"a": stored}


def test_what_is_no_number_is_replaced_by_the_one_that_changed():
    stored = {"version": 2, "name": "new", "seen": True}
    assert add_learned(stored, {"name": "old"}, {"name": "old"}) == stored
    assert add_learned({"name": "a"}, {"name": "a"}, {"name": "b", "on": True}) == {"name": "b", "on": True}
