"""Whatever the referee finds: a strategy ends, stays within its budget, names only what it was told, and can be replayed."""

from hypothesis import given, settings
from hypothesis import strategies as st
from play_strategy import TRACES, Player

from kernelwright.records.evaluation import OUTCOMES
from kernelwright.search.table import spelled, spellings

CONFIGS = [
    *(spelled(text) for text in spellings()),
    *(trace["config"] for trace in TRACES.values()),
    {"name": "fsr", "n": 2, "depth": 2, "repair_limit": 0},
    {"name": "fsr", "n": 3, "requests": "separate"},
    {"name": "frontend_midend", "frontend_attempts": 3, "midend_attempts": 0},
]
FATES = st.one_of(
    st.sampled_from([*OUTCOMES, "empty", "crashed@compile", "timed_out@compile"]),
    st.floats(0.1, 9.0).map(lambda speedup: f"measured {speedup:.3f}"),
)
ANSWERS = st.lists(st.lists(FATES, max_size=5), min_size=40, max_size=40)


def played(config, limits, answers):
    """The strategy after all answers, of which each expansion gets no more than it asked for."""
    player = Player(config, **limits)
    for words in answers:
        proposal_request = player.ask()
        if proposal_request is None:
            return player
        player.answer(*words[: proposal_request.count])
    raise AssertionError("it never ended")


@settings(max_examples=150, deadline=None)
@given(
    config=st.sampled_from(CONFIGS),
    proposals=st.integers(1, 30),
    target_us=st.none() | st.floats(5.0, 200.0),
    answers=ANSWERS,
)
def test_any_outcomes_end_within_the_budget_and_replay(config, proposals, target_us, answers):
    limits = {"proposals": proposals, "target_us": target_us}
    player = played(config, limits, answers)
    assert [e.number for e in player.asked] == list(range(len(player.asked)))
    assert player.room >= 0
    born = {a.number: a.proposal_request.number for a in player.attempts}
    for proposal_request in player.asked:
        assert all(born[parent] < proposal_request.number for parent in proposal_request.parents)
        assert len(set(proposal_request.parents)) == len(proposal_request.parents)
        begins = proposal_request.intent == "seed" or proposal_request.hint == "base"
        assert proposal_request.parents or (begins and proposal_request.dialogue == "fresh")
    assert played(config, limits, answers).asked == player.asked
    if player.room:
        assert player.strategy.finished()
