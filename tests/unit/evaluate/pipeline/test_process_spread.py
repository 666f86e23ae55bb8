"""What processes of one program differ by is no merit of a kernel's: looked at where it matters, and told."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kernelwright.evaluate.backends.cpu.module import eager_again
from kernelwright.evaluate.pipeline import admit, timing
from kernelwright.evaluate.pipeline.process_spread import LARGE, RANGE_TO_PAIR, TWINS, process_spread, spread_of
from kernelwright.evaluate.pipeline.timing import Benchmarked
from kernelwright.evaluate.sandbox.candidate_process import ChildRaisedError
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.timing.clock import Samples
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernelbench import parse_kernelbench

CPU = Target(kind="cpu", arch="native", present=True)
FARTHEST = 1 + 0.03 * (TWINS - 1)
"""Of the sides that a test begins, each of which takes longer than the one before."""
TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.exp(x) * 2

def get_inputs():
    return [torch.randn(256, 256)]
"""


class Side:
    """A process whose calls always take as long."""

    calls_at_once = None

    def __init__(self, ns):
        self.ns, self.closed = ns, False

    def ready(self, calls):
        pass

    def run(self, calls, checked, variant=""):
        return SimpleNamespace(outside_ns=self.ns * len(calls))

    def close(self):
        self.closed = True


def session_of(size=4096, eager_s=0.001):
    case = SimpleNamespace(offsets=(0,))
    task = SimpleNamespace(workload=SimpleNamespace(compulsory_bytes=size))
    return SimpleNamespace(process_spread=None, task=task, cases=[case], eager_s=eager_s, most_calls=lambda: 8)


def test_processes_that_take_as_long_do_not_differ():
    assert spread_of([[2.0, 2.0, 9.0]] * 6) == 0


def test_what_is_large_is_told_in_any_case():
    assert spread_of([[1.0] * 3, [2.0] * 3] * 3) == LARGE - 1


def test_one_more_process_is_within_it_of_the_first_in_99_of_100_cases():
    drawn = np.exp(np.random.default_rng(0).normal(0, 0.05, (20_000, TWINS + 1)))
    beyond = [max(t[0] / t[-1], t[-1] / t[0]) > 1 + spread_of([[us] * 2 for us in t[:-1]]) for t in drawn]
    assert np.mean(beyond) == pytest.approx(0.01, abs=0.003)


def test_it_is_looked_at_once_for_a_session_and_every_process_is_ended():
    begun = []

    def begin():
        begun.append(Side(1_000_000 + 30_000 * len(begun)))
        return begun[-1]

    session = session_of()
    first = process_spread(session, begin)
    assert first == process_spread(session, begin) == pytest.approx(FARTHEST**RANGE_TO_PAIR - 1)
    assert len(begun) == TWINS
    assert all(side.closed for side in begun)


@pytest.mark.parametrize("session", [session_of(1 << 30), session_of(eager_s=1.0)], ids=["large", "long"])
def test_processes_of_a_large_or_long_task_are_not_begun(session):
    assert process_spread(session, pytest.fail) == 0


def test_nothing_is_known_where_the_task_s_program_cannot_be_a_candidate():
    begun = []

    def begin():
        if begun:
            raise ChildRaisedError("NameError", "")
        begun.append(Side(1_000_000))
        return begun[0]

    assert process_spread(session_of(), begin) == 0
    assert begun[0].closed


def test_a_verdict_tells_only_what_is_beyond_it():
    samples = {"eager": [11.0 + 0.01 * i for i in range(24)], "candidate": [10.0] * 24}
    rule = Stopping(("eager",), 24, 0.99, 0.015, 0.02)
    beyond = Stopping(("eager",), 24, 0.99, 0.015, 0.02, least_effect=0.15)
    assert (rule.versus(samples, "eager").verdict, beyond.versus(samples, "eager").verdict) == (
        "faster",
        "inconclusive",
    )
    assert rule.versus(samples, "eager").speedup == beyond.versus(samples, "eager").speedup


def held(median):
    """A benchmark of eager against a candidate, with this ratio."""
    us = {"eager": [10 * median + 0.01 * i for i in range(24)], "candidate": [10.0] * 24}
    rule = Stopping(("eager",), 24, 0.99, 0.015, 0.02)
    return Benchmarked(Samples(us, 1, {}, {}), rule, Watch(), ["eager"], (), None, {}, 0.0)


@pytest.mark.parametrize(("median", "begins"), [(1.1, True), (0.9, True), (1.0, False), (3.0, False), (0.3, False)])
def test_processes_are_looked_at_where_a_small_difference_would_be_told(median, begins):
    begun = []

    def begin():
        begun.append(Side(1_000_000 + 30_000 * len(begun)))
        return begun[-1]

    trial = SimpleNamespace(session=session_of())
    found = timing._beyond_processes(trial, SimpleNamespace(eager_again=begin), held(median))
    assert bool(begun) is begins
    assert found.rule.least_effect == (pytest.approx(FARTHEST**RANGE_TO_PAIR - 1) if begins else 0)


def test_nobody_looks_on_a_device():
    one = held(1.1)
    assert timing._beyond_processes(SimpleNamespace(), SimpleNamespace(eager_again=None), one) is one


def test_the_task_s_own_program_is_begun_as_a_candidate_is(backend):
    policy = Policy(seeds=2, baselines=("eager",))
    session = admit.open_session(backend, parse_kernelbench(TASK, "exp", Path("exp.py")), CPU, policy, print)
    try:
        trial = Trial(session.original.task, lambda: session, Candidate(language="python", source=TASK), policy)
        twin = eager_again(trial, backend.host)
        try:
            (offsets,) = [case.offsets for case in session.cases[:1]]
            ran = twin.run([offsets], checked=True)
            assert torch.allclose(twin.read(ran.results[0][0]).double(), session.cases[0].expected[0].value, rtol=1e-5)
        finally:
            twin.close()
        assert process_spread(session, lambda: eager_again(trial, backend.host)) > 0, "six processes are never alike"
    finally:
        session.close()
