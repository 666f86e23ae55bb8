"""What may be said of a result: one word, and words that claim no more than it."""

import pytest

from kernelwright.engine.summary import figures_of
from kernelwright.interfaces.cli.words import figure_lines
from kernelwright.records.answer import answer_of, compared, figures, sentence, word, worth
from kernelwright.records.evaluation import OUTCOMES, Suspect
from kernelwright.records.measure import Load, Ratio, Versus
from kernelwright.testing.samples import sample_evaluation, sample_measured

BUSY = Load(cores=2, during=1.5)


def ratio(low, high):
    return Ratio(median=(low * high) ** 0.5, low=low, high=high, confidence=0.99)


def timed(low, high, verdict, load=None):
    found = sample_measured()
    versus = Versus(baseline="eager", speedup=ratio(low, high), verdict=verdict)
    return found.model_copy(update={"timing": found.timing.model_copy(update={"versus": (versus,), "load": load})})


@pytest.mark.parametrize(
    ("low", "high", "verdict", "said"),
    [
        (2.85, 2.98, "faster", "2.91× (2.85 to 2.98), faster"),
        (0.98, 1.04, "inconclusive", "1.01× (0.98 to 1.04), even"),
        (0.5, 0.6, "slower", "0.55× (0.50 to 0.60), slower"),
        (1.54, 7.36, "faster", "faster, by how much is uncertain (1.54 to 7.36)"),
        (0.62, 2.37, "inconclusive", "uncertain (0.62 to 2.37)"),
        (1e-9, 1955256799.0, "inconclusive", "too uncertain for a figure"),
        (0.0, 536215756.0, "inconclusive", "too uncertain for a figure"),
    ],
)
def test_a_comparison_says_no_more_than_its_interval(low, high, verdict, said):
    assert compared(ratio(low, high), verdict) == said
    versus = Versus(baseline="eager", speedup=ratio(low, high), verdict=verdict)
    if "too uncertain" in said:
        assert not any(digit in sentence(versus) + figures([versus]) for digit in "123456789")


@pytest.mark.parametrize(
    ("low", "high", "least", "told"),
    [(0.88, 0.98, 0.15, "a difference counts from 15 % on here"), (1.01, 1.02, 0.015, "from 1.5 % on"),
     (0.98, 1.02, 0.15, ""), (1.2, 1.4, 0.015, "")],
)  # fmt: skip
def test_an_even_interval_beside_one_says_from_which_difference_on_one_counts(low, high, least, told):
    versus = Versus.judged("eager", ratio(low, high), least)
    even = versus.model_copy(update={"verdict": "inconclusive"})
    for said in (compared(even.speedup, even.verdict), sentence(even)):
        assert (told in said) if told else ("counts" not in said)
    assert versus.verdict == ("inconclusive" if told or low < 1 else "faster")


def test_nothing_is_claimed_against_its_interval():
    assert word(ratio(0.36, 11.1), "faster") == "uncertain"
    assert compared(None, None) == "not compared"
    assert compared(None, "faster") == "too uncertain for a figure", "a figure that was withheld"


def test_a_baseline_that_could_not_be_made_is_named_with_the_reason():
    found = timed(1.5, 1.6, "faster")
    timing = found.timing.model_copy(update={"missing": ("compile: InductorError: no: header",)})
    lines = figure_lines(figures_of(found.model_copy(update={"timing": timing})))
    assert lines[2] == "vs torch.compile  not compared: InductorError: no: header"


def test_what_a_busy_machine_hides_is_disturbed_and_not_wrong():
    assert answer_of(timed(0.62, 2.37, "inconclusive", BUSY)) == "disturbed"
    assert answer_of(timed(0.62, 2.37, "inconclusive")) == "uncertain"
    assert answer_of(timed(0.98, 1.04, "inconclusive", BUSY)) == "even"
    assert answer_of(timed(1.54, 7.36, "faster", BUSY)) == "faster"
    suspect = Suspect(because="clock_disagrees", evidence="its own clock misses 3 us")
    assert answer_of(suspect) == "wrong"
    assert answer_of(suspect.model_copy(update={"load": BUSY})) == "disturbed"
    floor = suspect.model_copy(update={"load": BUSY, "because": "below_floor"})
    assert answer_of(floor) == "wrong", "nothing on a machine makes a kernel faster than physics"


def test_every_outcome_has_an_answer():
    said = {outcome: answer_of(sample_evaluation(outcome)) for outcome in OUTCOMES}
    assert (said.pop("measured"), said.pop("verified"), said.pop("compiled")) == ("faster", "verified", "compiled")
    assert set(said.values()) == {"wrong"}


def test_a_drop_in_is_written_of_what_is_said_to_be_faster():
    assert worth(timed(1.54, 7.36, "faster"), 1.0)
    assert not worth(timed(1.01, 1.03, "inconclusive"), 1.0), "no screen calls it faster"
    assert worth(timed(0.9, 1.03, "inconclusive"), 0.8)
    assert worth(timed(0.5, 0.6, "slower"), 0.0)
