"""How long the launcher may take: to load as long as any call, as contexts are made one by one; to run as eager admits."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from kernelwright.evaluate.backends.cuda import loading
from kernelwright.evaluate.backends.cuda.memory import limit_s
from kernelwright.evaluate.backends.cuda.process import PlanCandidateProcess
from kernelwright.evaluate.pipeline.evaluate import outcome_of
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.records.policy import Policy

POLICY = Policy(run_limit_s=30.0)


@pytest.fixture
def limits(monkeypatch):
    """The limits that held while programs were loaded."""
    seen = []
    monkeypatch.setattr(PlanCandidateProcess, "load", lambda self, *_, **__: seen.append(self.limit_s))
    monkeypatch.setattr(PlanCandidateProcess, "leave", lambda self: None)
    return seen


@pytest.fixture
def trial():
    found = MagicMock(policy=POLICY, stage="verify")
    found.session.policy, found.session.eager_s = POLICY, 1e-5
    return found


def program():
    return SimpleNamespace(plans=("only",), facts=MagicMock(), aligned_only=False)


def test_loading_has_a_calls_limit_and_running_what_eager_admits(limits, trial):
    assert limit_s(trial.session) < 4
    with loading.loaded_plan(trial, MagicMock(), program()) as loaded:
        assert loaded.process.limit_s == limit_s(trial.session)
    assert limits == [POLICY.run_limit_s]


def test_a_launcher_for_inputs_that_may_be_written_to_has_the_same_limits(limits, trial):
    again = loading._private_plan(trial, MagicMock(), program())
    assert again.limit_s == limit_s(trial.session)
    assert limits == [POLICY.run_limit_s]


def test_what_is_slow_names_the_limit_that_it_broke(limits, trial):
    with (
        pytest.raises(ChildSlowError) as ended,
        loading.loaded_plan(trial, MagicMock(), program()) as loaded,
    ):
        raise ChildSlowError(loaded.process.limit_s)
    outcome = outcome_of(trial, ended.value)
    assert outcome.outcome == "timed_out"
    assert outcome.limit_s == limit_s(trial.session)
