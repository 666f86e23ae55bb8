"""`check --state`: what forward writes to its buffers is compared unless told otherwise, and the verdict says what was not."""

from kernelwright import api
from kernelwright.engine.summary import check_of
from kernelwright.interfaces.cli.words import state_line, verdict_line
from kernelwright.records.candidate import Candidate
from kernelwright.records.tensor import TensorSpec
from kernelwright.testing.samples import sample_environment, sample_evaluation, sample_task

KERNEL = 'extern "C" void f(const float* x, float* y) {}\n'


def judged(changes, state):
    task = sample_task()
    counted = TensorSpec(name="count", shape=(1,), dtype="float32")
    changed = {"parameters": (counted,), "changes": changes, "state": state}
    task = task.model_copy(update={"workload": task.workload.model_copy(update=changed)})
    candidate = Candidate(language="cpp", source=KERNEL, entry="f")
    return check_of(task, sample_environment(), candidate, sample_evaluation("measured"))


def test_a_verdict_names_the_buffers_that_nobody_compared():
    found = judged(("x", "count"), ())
    assert found.ignored == ("count",)
    assert state_line(found).endswith("not compared: count")


def test_nothing_is_ignored_where_new_values_are_outputs():
    found = judged(("x", "count"), ("count",))
    assert (found.ignored, state_line(found)) == ((), "")


def test_the_option_is_the_policy_s(kernelwright, task, tmp_path, monkeypatch):
    (tmp_path / "k.cpp").write_text(KERNEL)
    asked, check = [], api.check
    monkeypatch.setattr(api, "check", lambda request, suppliers: asked.append(request) or check(request, suppliers))
    for options in ((), ("--state", "ignore")):
        assert kernelwright("check", task, "k.cpp", *options).code == 0
    assert [request.policy.state for request in asked] == ["compare", "ignore"]


def test_a_reason_begins_no_line_of_its_own():
    found = judged((), ()).model_copy(update={"reason": "odd\nmeasured\x1b[2J"})
    assert verdict_line(found).endswith(": odd measured\N{REPLACEMENT CHARACTER}[2J")
