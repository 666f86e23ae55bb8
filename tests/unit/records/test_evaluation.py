"""The union of outcomes: what cannot be said of a kernel cannot be constructed."""

from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import ValidationError
from record_strategies import of

from kernelwright.records.evaluation import (
    EVALUATION,
    OUTCOMES,
    BuildFailed,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    StageSeconds,
    Suspect,
    TimedOut,
    Verified,
    is_right,
)
from kernelwright.testing.samples import sample_evaluation, sample_measured

KINDS = get_args(get_args(Evaluation)[0])


def test_every_outcome_has_its_name_once():
    names = [kind.model_fields["outcome"].default for kind in KINDS]
    assert sorted(names) == sorted(OUTCOMES)
    assert len(set(names)) == len(names)


@settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(of(Evaluation))
def test_the_union_reads_back_what_was_written(outcome):
    again = EVALUATION.validate_json(outcome.model_dump_json())
    assert type(again) is type(outcome)
    assert again == outcome


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not Measured], ids=lambda k: k.__name__)
def test_only_a_measured_kernel_has_times(kind):
    assert not {"timing", "roofline", "latency_us", "speedup"} & set(kind.model_fields)


@pytest.mark.parametrize("name", [o for o in OUTCOMES if o != "measured"])
def test_a_time_cannot_be_put_on_another_outcome(name):
    data = sample_evaluation(name).model_dump(mode="json")
    data["timing"] = sample_measured(2.0).model_dump(mode="json")["timing"]
    with pytest.raises(ValidationError, match="Extra inputs"):
        EVALUATION.validate_python(data)


@pytest.mark.parametrize("lost", ["timing", "accuracy", "build", "roofline"])
def test_a_measurement_lacks_nothing(lost):
    data = sample_measured(2.0).model_dump(mode="json")
    del data[lost]
    with pytest.raises(ValidationError, match="Field required"):
        EVALUATION.validate_python(data)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Refused, {}),
        (BuildFailed, {"reason": "no"}),
        (Crashed, {"reason": "killed by SIGSEGV"}),
        (Crashed, {"reason": "x", "stage": "final"}),
        (TimedOut, {"stage": "verify"}),
        (Incorrect, {"because": "slow", "case": "as given", "evidence": "x"}),
        (Incorrect, {"because": "value", "case": "as given"}),
        (Suspect, {"because": "value", "evidence": "x"}),
        (Refused, {"reason": "x", "tier": 3}),
        (Refused, {"reason": "x", "outcome": "measured"}),
    ],
)
def test_what_an_outcome_needs_or_may_not_say(kind, fields):
    with pytest.raises(ValidationError):
        kind(**fields)


def test_an_outcome_that_nobody_knows_is_refused():
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        EVALUATION.validate_python({"outcome": "record"})
    with pytest.raises(ValidationError, match="discriminator"):
        EVALUATION.validate_python({"reason": "no outcome at all"})


def test_seconds_are_those_of_all_stages():
    seconds = tuple(StageSeconds(stage=s, seconds=t) for s, t in (("compile", 0.5), ("verify", 1.25)))
    assert Refused(reason="x", seconds=seconds).total_seconds == 1.75
    assert Refused(reason="x").total_seconds == 0


def test_a_stage_s_seconds_are_those_of_all_its_parts():
    parts = [("load", 0.5), ("measure", 1.0), ("promote", 2.0), ("measure", 0.25)]
    found = Refused(reason="x", seconds=tuple(StageSeconds(stage=stage, seconds=seconds) for stage, seconds in parts))
    assert list(found.stage_seconds.items()) == [("load", 0.5), ("measure", 1.25), ("promote", 2.0)]


def test_nothing_claims_the_referee_s_own_host_code_by_default():
    assert Refused(reason="x").tier == 2
    assert Verified.model_fields["disabled"].default == ()


@pytest.mark.parametrize("name", OUTCOMES)
def test_right_is_what_was_found_right_in_every_case(name):
    assert is_right(sample_evaluation(name)) == (name in {"measured", "verified"})
