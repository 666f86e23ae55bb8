"""What a run may claim of itself."""

import pytest

import fake_runs as fake
from kernelwright.records.answer import sentence
from kernelwright.records.measure import Load
from kernelwright.records.run import Outcome
from kernelwright.report.headline import headline, left_out


def test_a_final_measurement_is_claimed():
    run = fake.long_run(10)
    told = headline(fake.card(), run, fake.ended(run[-1]))
    assert told.standing == "final"
    assert told.title == "3.10× as fast as eager PyTorch"
    assert "60 paired blocks" in told.explanation
    assert told.measured is not None
    assert told.measured.timing.final


def test_a_slower_final_is_called_slower():
    run = fake.long_run(3)
    told = headline(fake.card(), run, fake.ended(run[0], eager=0.8))
    assert told.title.startswith("PyTorch stays: slower than eager PyTorch")
    assert "0.80×" in told.title


def test_it_says_who_wrote_the_kernel_and_why_pytorch_stays():
    run = fake.long_run(3)
    best = run[0].model_copy(update={"proposal": run[0].proposal.model_copy(update={"writer": "inductor"})})
    team = fake.card().model_copy(update={"config": {"proposer": "author+inductor"}})
    told = headline(team, run, fake.ended(best, eager=0.8))
    assert "The best kernel of the search, written by PyTorch's compiler (inductor), was measured" in told.explanation
    assert "above 1; here it is 0.78×, so none was written" in told.explanation
    picky = fake.card().model_copy(update={"config": {"proposer": "author", "remeasurement": {"min_speedup": 4}}})
    told = headline(picky, run, fake.ended(run[0]))
    assert told.title == "PyTorch stays: 3.10× as fast as eager PyTorch"
    assert "the built-in author" in told.explanation
    assert "above 4; here it is 3.01×, so none was written" in told.explanation


def test_a_slower_kernel_that_was_wanted_is_not_said_to_stay_away():
    run = fake.long_run(3)
    card = fake.card().model_copy(update={"config": {"remeasurement": {"keep_slower": True}}})
    assert headline(card, run, fake.ended(run[0], eager=0.8)).title.startswith("Slower than eager PyTorch")


def test_a_blurred_final_is_no_headline():
    run = fake.long_run(3)
    best = run[0].model_copy(update={"evaluation": fake.blurred(fake.measured(final=True))})
    told = headline(fake.card(), run, Outcome(best=0, final=best, stopped="proposals spent"))
    assert told.title == "PyTorch stays: no figure can be claimed (0.36× to 11.1×)"
    assert "4.00×" not in told.title + told.explanation
    eager = best.evaluation.timing.against("eager")
    assert sentence(eager).startswith("No figure against eager PyTorch can be claimed: 99 % interval 0.36× to 11.1×")


def test_a_wide_interval_above_one_is_faster_by_an_uncertain_amount():
    run = fake.long_run(3)
    best = run[0].model_copy(update={"evaluation": fake.blurred(fake.measured(final=True), 3.54, 6.11)})
    told = headline(fake.card(), run, Outcome(best=0, final=best, stopped="proposals spent"))
    assert told.title == "Faster than eager PyTorch, by how much is uncertain (3.54× to 6.11×)"
    assert "4.00×" not in told.title + told.explanation
    eager = best.evaluation.timing.against("eager")
    assert sentence(eager).startswith(
        "Faster than eager PyTorch; by how much is uncertain: 99 % interval 3.54× to 6.11×"
    )


def test_why_pytorch_stays_is_the_one_rule_of_a_wide_interval_too():
    run = fake.long_run(3)
    best = run[0].model_copy(update={"evaluation": fake.blurred(fake.measured(final=True))})
    told = headline(fake.card(), run, Outcome(best=0, final=best, stopped="proposals spent"))
    assert told.explanation.endswith("is above 1; here it is 0.36×, so none was written.")


def test_a_baseline_that_it_was_not_compared_with_is_named_with_the_reason():
    measured = fake.measured(final=True)
    told = ("compile_max: torch.compile was not done tuning after 90 s", "replays were not looked at")
    timing = measured.timing.model_copy(update={"missing": told})
    assert left_out(timing) == [
        "Not compared with torch.compile (max-autotune): torch.compile was not done tuning after 90 s."
    ]
    assert left_out(measured.timing) == []


@pytest.mark.parametrize("final", [True, False])
def test_a_busy_machine_stands_beside_its_figure(final):
    load = Load(cores=2, during=1.2, stolen=0.3)
    best = fake.attempt(0, fake.beside(fake.measured(final=final), load))
    told = headline(fake.card(), [best], Outcome(best=0, final=best if final else None, stopped="proposals spent"))
    assert (
        "This machine was busy meanwhile, so the figures are doubtful: other work kept 1.2 of 2 cores"
        in told.explanation
    )
    assert "the hypervisor took 30% of the cores' time" in told.explanation


def test_a_search_figure_is_no_result():
    run = fake.long_run(10)
    for outcome in (None, Outcome(best=9, final=None, stopped="interrupted")):
        told = headline(fake.card(), run, outcome)
        assert told.standing == "search"
        assert "Best so far" in told.title
        assert "is no result" in told.explanation


def test_a_final_that_fails_claims_nothing():
    run = fake.long_run(10)
    wrong = run[-1].model_copy(update={"evaluation": fake.every_outcome()[4]})
    told = headline(fake.card(), run, Outcome(best=9, final=wrong, stopped="proposals spent"))
    assert told.standing == "failed"
    assert told.measured is None
    assert "No speedup is claimed" in told.explanation


@pytest.mark.parametrize(("kind", "said"), [(6, "compiled, not run"), (7, "verified, not timed")])
def test_untimed_kernels_never_speak_of_speed(kind, said):
    run = [fake.attempt(0, fake.every_outcome()[kind], language="triton")]
    told = headline(fake.card(present=False), run, Outcome(best=0, final=None, stopped="proposals spent"))
    assert told.standing == "untimed"
    assert told.title == f"Triton kernel for sm_90: {said}"
    assert "claimed" in told.explanation
    assert told.measured is None


def test_nothing_right():
    run = [fake.attempt(n, e) for n, e in enumerate(fake.every_outcome()[:6])]
    told = headline(fake.card(), run, Outcome(best=None, final=None, stopped="nothing worked"))
    assert told.standing == "nothing"
    assert told.explanation.startswith(
        "None of 6 attempts came out right. Attempt 0: assertion failed. Attempt 1: kernel.cpp:3:1"
    )
    assert told.explanation.endswith("Stopped: nothing worked.")
    assert headline(fake.card(), [], None).explanation.startswith("No attempt was judged to the end.")


def test_sentences_follow_the_verdict():
    versus = fake.measured(3.1, 1.01).timing.versus
    assert sentence(versus[0]) == "Faster than eager PyTorch: 3.10×, 99 % interval 3.01× to 3.19×."
    assert sentence(versus[1]).startswith("Neither faster nor slower than torch.compile can be claimed")


def test_a_best_that_no_final_confirmed_is_not_claimed():
    stopped = "The budget is spent. No kernel stood when it was measured again."
    told = headline(fake.card(), fake.long_run(5), Outcome(best=None, stopped=stopped))
    assert told.standing == "failed"
    assert told.measured is None
    assert told.explanation == f"Stopped: {stopped} What the search saw of it is no result."
