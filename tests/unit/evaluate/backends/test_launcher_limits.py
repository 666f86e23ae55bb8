"""How long the launcher may take: to load as long as any call, as contexts are made one by one; to run as eager admits."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cuda import loading
from kernelwright.evaluate.backends.cuda.memory import run_limit_s
from kernelwright.evaluate.backends.cuda.process import PlanProcess
from kernelwright.evaluate.pipeline.evaluate import outcome_of
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS
from kernelwright.evaluate.sandbox.messages.calls import Clocking
from kernelwright.evaluate.sandbox.process import ProcessOptions
from kernelwright.records.policy import Policy
from kernelwright.records.tensor import TensorSpec

POLICY = Policy(run_limit_s=30.0)
OUTPUT = TensorSpec(name="output", shape=(1 << 28,), dtype="float32")


@pytest.fixture
def limits(monkeypatch):
    """The limits that held while programs were loaded."""
    seen = []
    monkeypatch.setattr(PlanProcess, "load", lambda self, *_, **__: seen.append(self.limit_s))
    monkeypatch.setattr(PlanProcess, "leave", lambda self: None)
    return seen


@pytest.fixture
def trial():
    found = MagicMock(policy=POLICY, process_options=ProcessOptions)
    found.found.stage = "verify"
    found.session.policy, found.session.eager_s = POLICY, 1e-5
    found.session.task.workload.outputs, found.session.memory.box.return_value = (OUTPUT,), 1 << 26
    return found


def program():
    return SimpleNamespace(plans=("only",), facts=MagicMock(), aligned_only=False)


def test_loading_has_a_calls_limit_and_running_what_eager_admits(limits, trial):
    assert run_limit_s(trial.session) < 4
    with loading.load_plan(trial, MagicMock(), program()) as loaded:
        assert loaded.process.limit_s == run_limit_s(trial.session)
    assert limits == [POLICY.run_limit_s]


def test_a_launcher_for_inputs_that_may_be_written_to_has_the_same_limits(limits, trial):
    with loading.LoadedPlan(trial, MagicMock(), program()).respawn("private") as again:
        assert again.process.limit_s == run_limit_s(trial.session)
    assert limits == [POLICY.run_limit_s]


def test_what_is_slow_names_the_limit_that_it_broke(limits, trial):
    with (
        pytest.raises(ChildSlowError) as ended,
        loading.load_plan(trial, MagicMock(), program()) as loaded,
    ):
        raise ChildSlowError(loaded.process.limit_s)
    outcome = outcome_of(trial, ended.value)
    assert outcome.outcome == "timed_out"
    assert outcome.limit_s == run_limit_s(trial.session)


@pytest.mark.parametrize(
    ("effort", "free", "two"), [("final", 80 << 30, True), ("search", 80 << 30, False), ("final", 5 << 30, False)]
)
def test_an_audit_s_two_results_find_room_where_the_device_has_it(monkeypatch, trial, effort, free, two):
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (free, 140 << 30))
    trial.effort = effort
    process = PlanProcess(MagicMock(), 1.0, (OUTPUT,))
    process.outbox.nbytes = process.outbox.room(MOST_CALLS, loading.box(trial))
    assert process.has_room((OUTPUT,), 2) is two
    if not two:
        process.outbox._arena = MagicMock()
        with pytest.raises(RefereeError, match="do not fit"):
            process.outbox.poison(2)


def test_calls_of_a_kernel_that_does_nothing_need_room_for_one_result(monkeypatch):
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    process = PlanProcess(MagicMock(), 1.0, (OUTPUT,))
    process.outbox._arena, process.outbox.nbytes = MagicMock(), process.outbox.room(1)
    asked = process._command([(0,)] * 32, "eager", Clocking(clock="overhead"))
    assert len(asked.outs) == 32
    assert all(places == asked.outs[0] for places in asked.outs)
    with pytest.raises(RefereeError, match="32 calls do not fit"):
        process._command([(0,)] * 32, "eager", Clocking(clock="each"))
