"""The predictor: what it may look at, what it learns, and that its file is data."""

import random
from math import log2

import pytest

from kernelwright.errors import StoreError
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.measure import Ratio
from kernelwright.reward.predictor.experience import NamedReward, Row, features, read_rows, row_of, speed_of, text_of
from kernelwright.reward.predictor.forest import ForestPredictor, centred, worth
from kernelwright.reward.table import OF_SPEED, find_reward
from kernelwright.testing.samples import sample_evaluation, sample_task

TASK, BUILT = sample_task(), sample_evaluation("compiled")


def candidate(source, **fields):
    return Candidate(language="cpp", source=source, entry="kernel", **fields)


def attempt(source, outcome="measured", speedup=1.0, number=0, known=None):
    return Attempt(
        number=number,
        proposal_request=ProposalRequest(number=number, intent="seed"),
        proposal=Proposal(candidate=candidate(source)),
        evaluation=sample_evaluation(outcome, speedup),
        known=known,
        cost=Cost(),
    )


def source(block, wrong=False):
    return f"const int BLOCK = {block};\n{'#pragma omp simd' if wrong else '#pragma omp parallel for'}\n"


def score(predictor, source, built=None):
    """Of one candidate by itself."""
    return predictor.scores(TASK, [(candidate(source), built)])[0]


def taught(rows=40, preset="", reward=lambda block: 0.0):
    """Larger blocks are faster; what lacks `parallel` is wrong; a right one earns what `reward` says of its block."""
    draw, predictor = random.Random(1), ForestPredictor(preset=preset)
    for number in range(rows):
        block, wrong = 2 ** draw.randint(1, 10), draw.random() < 0.4
        outcome = "incorrect" if wrong else "measured"
        told = 0.0 if wrong else reward(block)
        predictor.learn(TASK, attempt(source(block, wrong), outcome, 1 + block / 256, number), told)
    return predictor


def test_features_are_known_before_anything_runs_and_say_what_the_text_says():
    plain = features(TASK, candidate(source(64), defines=(Define(name="UNROLL", value=3),)), None)
    assert plain["source BLOCK ="] == pytest.approx(6.02, abs=0.01)
    assert plain["set unroll"] == 2.0
    assert plain["source parallel"] == 1.0
    assert not [name for name in plain if name.startswith("build")]
    built = features(TASK, candidate(source(64)), sample_evaluation("compiled"))
    assert built["build made"] == 1.0
    assert features(TASK, candidate(""), sample_evaluation("build_failed"))["build made"] == 0.0


def test_flags_calls_and_sizes_next_to_each_other_are_features():
    text = "std::fill_n(a, 3); std::fill_n(b, 3);\n#pragma omp parallel for schedule(dynamic, 16) num_threads(1)\nBLOCK = 1024"
    known = features(TASK, candidate(text, flags=("-mprefer-vector-width=512", "-funroll-loops")), None)
    assert (known["flag -mprefer-vector-width"], known["flag -funroll-loops"]) == (pytest.approx(9, abs=0.01), 1.0)
    assert known["source calls std::fill_n"] == 2.0
    assert known["source chunk"] == pytest.approx(4.09, abs=0.01)
    assert known["size tile"] == 10.0
    assert known["size block in row"] == pytest.approx(10 - log2(TASK.workload.tensors[0].shape[-1]))


def test_a_time_that_nobody_is_sure_of_teaches_no_speed():
    found = sample_evaluation("measured", 2.0)
    versus = found.timing.versus[0]
    blurred = versus.model_copy(update={"speedup": Ratio(median=2.0, low=0.5, high=90.0, confidence=0.99)})
    timing = found.timing.model_copy(update={"versus": (blurred,)})
    assert speed_of(found) == 1.0
    assert speed_of(found.model_copy(update={"timing": timing})) is None


def test_a_measured_time_is_no_feature():
    slow, fast = (features(TASK, candidate("x"), sample_evaluation("measured", s)) for s in (0.1, 9.0))
    assert slow == fast


def test_it_learns_who_is_right_and_who_is_fast():
    predictor = taught()
    good, slow, bad = (score(predictor, s, BUILT) for s in (source(900), source(3), source(900, True)))
    assert good > slow > bad
    right, wrong = predictor.validity(
        TASK.id, [features(TASK, candidate(source(100, w)), BUILT) for w in (False, True)]
    )
    assert right > 0.8 > 0.2 > wrong


def test_on_a_task_it_never_saw_the_odd_one_out_is_unlikely():
    rows = []
    for number, usual in enumerate((2, 5, 9, 14)):
        for turn in range(12):
            odd = turn % 3 == 0
            known = {"build made": 1.0, "source times": usual + odd, "source plus": 3.0 * number}
            rows.append(Row(task=f"task {number}", features=known, valid=not odd, speed=None))
    batch = [{"build made": 1.0, "source times": times, "source plus": 1.0} for times in (40.0, 40.0, 41.0, 40.0)]
    chances = ForestPredictor(rows).validity("another", batch)
    assert chances[2] < 0.5 < min(chances[:2])


def test_what_does_not_build_is_not_right_whatever_was_learned():
    known = features(TASK, candidate(source(900)), sample_evaluation("build_failed"))
    assert taught().validity(TASK.id, [known]) == [0.0]
    assert ForestPredictor().validity(TASK.id, [known]) == [0.0]


def test_before_it_knows_anything_it_prefers_nothing():
    predictor = ForestPredictor()
    assert {score(predictor, source(b)) for b in (1, 2, 3)} == {0.0}
    predictor.learn(TASK, attempt(source(1)), 0.0)
    assert score(predictor, source(2)) == 0.0


def test_the_same_experience_makes_the_same_predictor():
    scores = [score(taught(), source(77)) for _ in range(2)]
    assert scores[0] == scores[1]


def test_a_candidate_met_again_teaches_nothing():
    predictor = taught()
    before = score(predictor, source(900))
    for number in range(40, 60):
        predictor.learn(TASK, attempt(source(900), speedup=0.01, number=number, known=3), 0.0)
    assert score(predictor, source(900)) == before


@pytest.mark.parametrize("preset", sorted(OF_SPEED))
def test_a_reward_of_speed_is_learned_as_the_speed(preset):
    rewarded, plain = taught(preset=preset, reward=lambda block: 10.0 / block), taught()
    assert score(rewarded, source(900)) == score(plain, source(900)) > score(plain, source(3))


@pytest.mark.parametrize("name", sorted(OF_SPEED))
def test_a_reward_of_speed_pays_the_faster_more(name):
    paid = [find_reward(name)(attempt("x", speedup=speed).evaluation, None, None) for speed in (0.2, 0.9, 1.1, 5.0)]
    assert paid == sorted(set(paid))


def test_another_reward_is_learned_as_it_was_told():
    slow_earns_more = taught(preset="midend", reward=lambda block: 3.0 if block < 32 else 1.0)
    assert score(slow_earns_more, source(3)) > score(slow_earns_more, source(900))
    all_earn_alike = taught(preset="frontend", reward=lambda block: 1.0)
    facts = [features(TASK, candidate(source(block)), BUILT) for block in (3, 900)]
    assert all_earn_alike.speed(TASK.id, facts) == [0.0, 0.0]
    assert score(all_earn_alike, source(900)) > score(all_earn_alike, source(900, True))


def test_what_a_search_under_another_reward_was_told_is_no_label():
    row = row_of(TASK, attempt("x", speedup=2.0), NamedReward("midend", 3.0))
    assert [worth(row, preset) for preset in ("midend", "frontend", "", "tritongym")] == [3.0, None, 1.0, 1.0]
    assert worth(row_of(TASK, attempt("x", "incorrect"), NamedReward("frontend", 0.2)), "frontend") is None


def test_a_tasks_own_worth_is_taken_out():
    assert centred([("a", 1.0), ("a", 2.0), ("b", 9.0)]) == [-0.5, 0.5, 0.0]
    assert centred([("a", 1.0), ("a", 9.0), ("a", 30.0)]) == [-1.0, 0.0, 1.0]


def test_what_was_only_compiled_says_nothing_of_its_validity():
    assert row_of(TASK, attempt("x", "compiled")) is None
    assert row_of(TASK, attempt("x", "crashed")).valid is False


def test_experience_is_lines_of_data(tmp_path):
    told = NamedReward("midend", 1.5)
    rows = [row_of(TASK, attempt(source(8), "measured", 2.0), told), row_of(TASK, attempt("x", "build_failed"))]
    (tmp_path / "e.jsonl").write_text(text_of(rows))
    assert list(read_rows(tmp_path / "e.jsonl")) == rows
    assert rows[0].speed == pytest.approx(1.0)
    (tmp_path / "e.jsonl").write_text('{"task": "x"}\n')
    with pytest.raises(StoreError, match="kernelwright learn"):
        read_rows(tmp_path / "e.jsonl")
    with pytest.raises(StoreError, match="--predictor"):
        read_rows(tmp_path / "missing")
