"""What processes of one program differ by is no merit of a kernel's: looked at where it matters, and told."""

from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kernelwright.evaluate.backends.cpu.loading import LoadedModule
from kernelwright.evaluate.pipeline import admit, timing
from kernelwright.evaluate.pipeline.process_spread import (
    LARGE,
    ONE_BY_ONE,
    RANGE_OF_FOUR,
    RANGE_TO_NEXT,
    TWINS,
    process_spread,
    spread_in_turn,
    spread_of,
)
from kernelwright.evaluate.pipeline.timing import Benchmarked
from kernelwright.evaluate.sandbox.process import ChildRaisedError
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.timing.clock import Samples
from kernelwright.evaluate.timing.conditions import Watch
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernelbench import parse_kernelbench

CPU = Target(kind="cpu", arch="native", present=True)
FIRST_NS = 1_000_000
SPREAD = (1 + 0.03 * (TWINS - 1)) ** RANGE_TO_NEXT * (1.06 * 1.09) ** 0.5 - 1
"""Of the sides that a test begins, each of which takes longer than the one before; eager takes as long as the first."""
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


def beginning(begun):
    """Begins sides, each slower than the one before."""

    @contextmanager
    def begin():
        side = Side(FIRST_NS + 30_000 * len(begun))
        begun.append(side)
        try:
            yield SimpleNamespace(process=side)
        finally:
            side.close()

    return begin


def loaded_with(**respawns):
    """A candidate of which these further processes can be begun."""
    return SimpleNamespace(respawns=frozenset(respawns), respawn=lambda kind: respawns[kind]())


HOST, DEVICE = SimpleNamespace(on_device=False), SimpleNamespace(on_device=True)


def session_of(size=4096, eager_s=0.001):
    case = SimpleNamespace(offsets=(0,))
    task = SimpleNamespace(workload=SimpleNamespace(compulsory_bytes=size))
    eager = Side(FIRST_NS)
    return SimpleNamespace(
        process_spread=None, reference=eager, task=task, cases=[case], eager_s=eager_s, most_calls=lambda: 8
    )


def test_processes_that_take_as_long_do_not_differ():
    assert spread_of([2.0, 2.0, 9.0], [[2.0, 2.0, 9.0]] * 6) == 0


def test_eager_s_own_process_may_be_unlike_all_others():
    assert spread_of([1.8, 1.8, 1.8], [[2.0, 2.0, 9.0]] * 6) == pytest.approx(2 / 1.8 - 1)


def test_what_is_large_is_told_in_any_case():
    assert spread_of([1.0] * 3, [[1.0] * 3, [2.0] * 3] * 3) == LARGE - 1


def test_one_more_process_is_within_it_of_the_middle_of_six_in_99_of_100_cases():
    drawn = np.exp(np.random.default_rng(0).normal(0, 0.05, (20_000, TWINS + 1)))
    middle = np.exp(np.median(np.log(drawn[:, :-1]), axis=1))
    told = [1 + spread_of([usual] * 2, [[us] * 2 for us in t[:-1]]) for usual, t in zip(middle, drawn, strict=True)]
    beyond = [max(usual / t[-1], t[-1] / usual) > most for usual, t, most in zip(middle, drawn, told, strict=True)]
    assert np.mean(beyond) == pytest.approx(0.01, abs=0.003)


def test_it_is_looked_at_once_for_a_session_and_every_process_is_ended():
    session, begun = session_of(), []
    first = process_spread(session, beginning(begun))
    assert first == process_spread(session, beginning(begun)) == pytest.approx(SPREAD)
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
        return beginning(begun)()

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
    one, other = (each.versus(samples, "eager").speedup for each in (rule, beyond))
    assert (one.median, one.low, one.high) == (other.median, other.low, other.high)
    assert (one.least, other.least) == (0.015, 0.15)


def held(median):
    """A benchmark of eager against a candidate, with this ratio."""
    us = {"eager": [10 * median + 0.01 * i for i in range(24)], "candidate": [10.0] * 24}
    rule = Stopping(("eager",), 24, 0.99, 0.015, 0.02)
    return Benchmarked(Samples(us, 1, {}, {}), rule, Watch(), ["eager"], (), None, {}, 0.0)


@pytest.mark.parametrize(("median", "begins"), [(1.1, True), (0.9, True), (1.0, False), (3.0, False), (0.3, False)])
def test_processes_are_looked_at_where_a_small_difference_would_be_told(median, begins):
    trial, begun = SimpleNamespace(session=session_of()), []
    found = timing._beyond_processes(trial, HOST, loaded_with(eager=beginning(begun)), held(median))
    assert bool(begun) is begins
    assert found.rule.least_effect == (pytest.approx(SPREAD) if begins else 0)


def test_one_more_process_is_within_what_contests_in_turn_show_in_99_of_100_cases():
    drawn = np.random.default_rng(0).normal(0, 0.005, (20_000, ONE_BY_ONE + 2))
    told = [1 + in_turn(*(one[1:-1] - one[0])) for one in drawn]
    beyond = [np.exp(abs(one[-1] - one[0])) > most for one, most in zip(drawn, told, strict=True)]
    assert np.mean(beyond) == pytest.approx(0.01, abs=0.003)


def in_turn(*logs):
    """What contests with these results show."""
    results = iter(logs)
    return spread_in_turn(session_of(), lambda: [next(results)] * 3)


def test_contests_in_turn_are_held_once_for_a_session():
    session, asked = session_of(), []

    def contest():
        asked.append(None)
        return [0.01 * len(asked), 0.0, 0.5]

    assert spread_in_turn(session, contest) == spread_in_turn(session, contest)
    assert session.process_spread == pytest.approx(np.exp(0.03 * RANGE_OF_FOUR) - 1)
    assert len(asked) == ONE_BY_ONE


@pytest.mark.parametrize("session", [session_of(eager_s=1.0), session_of()], ids=["long", "none was held"])
def test_nothing_is_known_without_contests(session):
    assert spread_in_turn(session, lambda: None) == 0


@contextmanager
def another(began):
    began.append(None)
    yield SimpleNamespace(trial=None, process=None, timed=nullcontext)


@pytest.mark.parametrize(("median", "held_in_turn"), [(1.1, 3), (0.93, 3), (1.0, 0), (1.4, 0), (0.7, 0)])
def test_on_a_device_they_are_held_where_a_small_difference_would_be_told(monkeypatch, median, held_in_turn):
    began = []
    monkeypatch.setattr(timing, "_run_benchmark", lambda *_: held(1.05))
    loaded = loaded_with(eager=partial(another, began))
    found = timing._beyond_processes(SimpleNamespace(session=session_of()), DEVICE, loaded, held(median))
    assert len(began) == held_in_turn
    assert (found.rule.least_effect > 0) == bool(held_in_turn)


@pytest.fixture
def once_more(monkeypatch):
    """Judges a candidate of this tier and effort that shows `first`, and `second` in one more process."""

    def judged(first, second, tier=2, effort="search"):
        began = []
        monkeypatch.setattr(timing, "_run_benchmark", lambda *_: (second and held(second)) or failed())
        loaded = loaded_with(again=partial(another, began))
        loaded.trial = trial = SimpleNamespace(session=session_of(), found=SimpleNamespace(tier=tier), effort=effort)
        one = timing._beyond_processes(trial, DEVICE, loaded, held(first))
        return one.rule.versus(one.samples.us, "eager").verdict, len(began)

    return judged


def failed():
    raise ChildRaisedError("OutOfMemoryError", "")


@pytest.mark.parametrize(("second", "verdict"), [(1.3, "faster"), (1.0, "inconclusive")])
def test_on_a_cpu_a_module_is_begun_once_more_too(monkeypatch, second, verdict):
    monkeypatch.setattr(timing, "_run_benchmark", lambda *_: held(second))
    alike = lambda: nullcontext(SimpleNamespace(process=Side(FIRST_NS)))  # noqa: E731
    loaded = loaded_with(eager=alike, again=partial(another, []))
    trial = SimpleNamespace(session=session_of(), found=SimpleNamespace(tier=2), effort="search")
    found = timing._beyond_processes(trial, HOST, loaded, held(1.3))
    assert found.rule.versus(found.samples.us, "eager").verdict == verdict


@pytest.mark.parametrize(
    ("second", "verdict"), [(1.05, "faster"), (1.04, "faster"), (1.0, "inconclusive"), (0.95, "inconclusive")]
)
def test_on_a_device_a_small_difference_is_told_if_one_more_process_shows_it(once_more, second, verdict):
    assert once_more(1.05, second) == (verdict, 1)


def test_one_that_cannot_be_begun_once_more_is_believed(once_more):
    assert once_more(1.05, None) == ("faster", 1)


@pytest.mark.parametrize(("first", "tier", "effort"), [(1.2, 2, "search"), (1.0, 2, "final"), (1.05, 1, "search")])
def test_what_is_plain_or_only_searched_for_is_not_begun_once_more(once_more, first, tier, effort):
    assert once_more(first, 1.0, tier, effort)[1] == 0


def test_a_final_of_a_launch_plan_is_begun_once_more(once_more):
    assert once_more(1.05, 1.0, 1, "final") == ("inconclusive", 1)


def test_nobody_looks_where_nobody_can():
    one = held(1.1)
    assert timing._beyond_processes(SimpleNamespace(), HOST, loaded_with(), one) is one


def test_the_task_s_own_program_is_begun_as_a_candidate_is(backend):
    policy = Policy(seeds=2, baselines=("eager",))
    session = admit.open_session(backend, parse_kernelbench(TASK, "exp", Path("exp.py")), CPU, policy, print)
    try:
        trial = Trial(session.original.task, lambda: session, Candidate(language="python", source=TASK), policy)
        loaded = LoadedModule(trial, backend.host)
        with closing(loaded.process), loaded.respawn("eager") as other:
            (offsets,) = [case.offsets for case in session.cases[:1]]
            ran = other.process.run([offsets], checked=True)
            value = other.process.read(ran.results[0][0]).double()
            assert torch.allclose(value, session.cases[0].expected[0].value, rtol=1e-5)
            assert process_spread(session, lambda: loaded.respawn("eager")) > 0, "six processes are never alike"
    finally:
        session.close()
