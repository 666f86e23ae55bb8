"""Probes see what verification did not: results that are kept, shared, lucky or made by somebody else."""

import threading
import time
from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.backends.cpu.loading import ABSENT_OF_LIBRARY
from kernelwright.evaluate.backends.host import hash_block
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.new_best_audit import ablation, audit_new_best, own_share
from kernelwright.evaluate.pipeline.probes import (
    ProbeFailedError,
    Scene,
    _loaded_again,
    _place,
    perturbation,
    same_bits,
    two_results,
)
from kernelwright.evaluate.sandbox.messages.calls import ROUNDED
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.loaded import Instruments, NotRunError, Sanitized
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.verify.compare import Expected
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Measured
from kernelwright.records.graph import OpGraph
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.testing.samples import sample_measured

POLICY = Policy(baselines=("eager",))
CPU = Target(kind="cpu", arch="native", present=True)
TASK = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1)
def get_inputs():
    return [torch.randn(8, 16)]
"""


@pytest.fixture(scope="module")
def trial(backend):
    source = TaskSource(name="sums", format="kernelbench", source=TASK)
    opened = admit.open_session(backend, source, CPU, POLICY, lambda size: None)
    yield Trial(opened.task, lambda: opened, Candidate(language="cpp", source=""), POLICY)
    opened.close()


class Honest:
    """Computes in the grader what a candidate would."""

    def __init__(self, session):
        self.session, self.room = session, 2

    def has_room(self, outputs, calls):
        return calls <= self.room

    def result(self, offsets):
        return self.session.view(0, offsets[0]).cumsum(1)

    def compute(self, places):
        return [[self.result(offsets)] for offsets in places]


class Peeking(Honest):
    """Takes what it finds at a few elements for so of all: that none is below a bound."""

    def result(self, offsets):
        x = self.session.view(0, offsets[0])
        return x.clamp(min=-6).cumsum(1) if bool((x.flatten()[::16] >= -6).all()) else super().result(offsets)


class ShortLoop(Honest):
    """Takes one element for an ordinary one."""

    place = -1

    def result(self, offsets):
        x = self.session.view(0, offsets[0]).clone()
        x.view(-1)[self.place].clamp_(-6, 6)
        return x.cumsum(1)


class LateLoop(ShortLoop):
    """The same of the first."""

    place = 0


class Racing(Honest):
    """Wrong in one of nine runs."""

    runs = 0

    def result(self, offsets):
        self.runs += 1
        return super().result(offsets) + (self.runs % 9 == 0)


class LosesFirst(Honest):
    """Wrong in the first run that is looked at, and never again."""

    runs = 0

    def result(self, offsets):
        self.runs += 1
        return super().result(offsets) + (self.runs == 1)


class Replaying(Honest):
    """Reads from where it met these values for the first time."""

    def __init__(self, session):
        super().__init__(session)
        self.met = {}
        for case in session.cases:
            self.result(case.offsets)

    def result(self, offsets):
        values = tuple(self.session.view(0, offsets[0]).flatten().tolist())
        return super().result((self.met.setdefault(values, offsets[0]),))


class Atomic(Honest):
    """Another last bit now and then."""

    runs = 0

    def result(self, offsets):
        self.runs += 1
        return super().result(offsets) * (1 + 2e-7 * (self.runs % 2))


class Remembering(Honest):
    """Keeps results by where their inputs lie."""

    def __init__(self, session):
        super().__init__(session)
        self.known = {}

    def result(self, offsets):
        return self.known.setdefault(offsets[0], super().result(offsets))


class PlacedRight(Honest):
    """Right where its inputs lay when it was verified."""

    def result(self, offsets):
        known = {case.offsets[0] for case in self.session.cases[:1]}
        return super().result(offsets) * (1 if offsets[0] in known else 2)


class OneBuffer(Honest):
    """Gives every result in the same memory."""

    def compute(self, places):
        if len(places) > 1:
            raise TamperedError("two results of one sample share the memory at 0x10")
        return super().compute(places)


class LastOne(Honest):
    """Gives the last result twice."""

    def compute(self, places):
        return [super().compute(places)[-1]] * len(places)


class Blunt(Honest):
    """Does not see large elements."""

    def result(self, offsets):
        return self.session.view(0, offsets[0]).clamp(-6, 6).cumsum(1)


def scene_of(session, subject, *busy):
    """A scene with what computes in place of a loaded candidate."""
    scene = Scene(session, SimpleNamespace(process=subject, respawns=frozenset()), busy)
    scene.compute = subject.compute
    return scene


def judged(trial, subject, instruments=None, **policy):
    trial.policy = POLICY.model_copy(update=policy)
    instruments = instruments or Instruments(absent=ABSENT_OF_LIBRARY)
    scene = scene_of(trial.session, subject(trial.session), hash_block)
    return audit_new_best(trial, sample_measured(), scene, instruments)


def test_an_honest_candidate_keeps_its_measurement_and_gets_its_probes(trial):
    before = [trial.session.view(0, case.offsets[0]).clone() for case in trial.session.cases]
    found = judged(trial, Honest)
    assert isinstance(found, Measured)
    probes = {p.name: p for p in found.audit.probes}
    for name in ("races", "perturbation", "new_values", "new_storage", "two_results"):
        assert probes[name].status == "passed", probes[name]
        assert probes[name].seconds > 0
    for name in ("ablation", "own_share", "memcheck", "racecheck"):
        assert probes[name].status == "not_run"
        assert probes[name].evidence
    assert found.audit.own_share is None
    assert found.audit.seconds >= probes["races"].seconds
    for case, kept in zip(trial.session.cases, before, strict=True):
        assert trial.session.view(0, case.offsets[0]).equal(kept), "inputs are what they were"


def test_last_bits_may_differ_from_run_to_run(trial):
    found = judged(trial, Atomic)
    assert isinstance(found, Measured)
    assert "differ from the first in their last bits" in found.audit.probes[0].evidence


@pytest.mark.parametrize(
    ("subject", "because"),
    [
        (Racing, "race"),
        (Remembering, "perturbation"),
        (PlacedRight, "stale"),
        (OneBuffer, "shared_results"),
        (LastOne, "shared_results"),
        (Blunt, "perturbation"),
        (Peeking, "perturbation"),
        (ShortLoop, "perturbation"),
        (LateLoop, "perturbation"),
    ],
)
def test_what_is_right_for_the_wrong_reason_is_found_out(trial, subject, because):
    found = judged(trial, subject)
    assert (found.outcome, found.because) == ("incorrect", because)
    assert found.evidence


def test_both_ends_of_a_tensor_change_among_others_and_where_it_has_one_turn_the_last_does_half_of_the_time():
    assert [_place(1 << 40, turn, 4) for turn in (0, 2, 3)] == [(1 << 40) - 1, 0, (1 << 40) - 1]
    assert len({_place(1 << 40, turn, 8) for turn in range(8)}) == 7
    found = [_place(1 << 40, 0, 1) == (1 << 40) - 1 for _ in range(100)]
    assert 10 < sum(found) < 90


GRAPH = OpGraph(inputs=(), parameters=(), nodes=(), outputs=())

# --- instruments that only a GPU has ------------------------------------------------------------------------------


@pytest.mark.parametrize(("tf32", "refused"), [(True, False), (False, True)])
def test_what_tf32_moves_is_no_failure_of_a_probe_and_asked_only_where_it_matters(tf32, refused):
    """An element that changed makes more of a rounding that eager, by its choice of algorithm, spares itself."""
    truth = torch.randn(8, 200, dtype=torch.float64)
    expected = Expected(truth, 1.0, 1e-4, 4e-4)
    session = SimpleNamespace(
        task=SimpleNamespace(numerics=SimpleNamespace(tf32=tf32), graph=GRAPH),
        cases=[Case("given", (), (expected,))], tensors=(), reduction=lambda output: 1,
        results=lambda variant, offsets: [truth * (1 + 1e-3 * (variant == ROUNDED))],
        forget_parameters=lambda: None, settle=lambda: None,
    )  # fmt: skip
    scene, got = Scene(session, None), (truth * (1 + 1e-3)).float()
    assert (scene.wrong(session.cases[0], [got]) is not None) == refused
    assert scene.wrong(session.cases[0], [got], plainly=True) is not None


class Plan:
    """Launches that can be left out; each name says whether the result needs it."""

    def __init__(self, session, *needed):
        self.session, self.needed = session, needed

    def launches(self):
        return [f"kernel_{i}" for i in range(len(self.needed))]

    def without(self, launches, offsets):
        wrong = any(self.needed[i] for i in launches)
        return [self.session.view(0, offsets[0]).cumsum(1) + wrong]


def ablated(trial, *needed):
    scene = scene_of(trial.session, Honest(trial.session), hash_block)
    return ablation(scene, Plan(trial.session, *needed))


def test_a_result_is_wrong_without_its_kernels(trial):
    assert "any one of its 2 launches" in ablated(trial, True, True)
    assert "without kernel_1 alone it is still right" in ablated(trial, True, False)


@pytest.mark.parametrize("needed", [(), (False,), (False, False)])
def test_kernels_that_nothing_depends_on_are_decoration(trial, needed):
    with pytest.raises(ProbeFailedError) as raised:
        ablated(trial, *needed)
    assert raised.value.because == "decoration"


def test_decoration_is_suspect(trial):
    instruments = Instruments(ablatable=Plan(trial.session, False))
    found = judged(trial, Honest, instruments)
    assert (found.outcome, found.because) == ("suspect", "decoration")


def test_the_share_of_own_kernels_by_name():
    times = {"softmax(float*, float*)": 30.0, "softmax_0": 30.0, "cublas_gemm": 20.0, "softmax2": 20.0}
    assert own_share(times, ["softmax"]) == pytest.approx(0.6)
    assert own_share({}, ["softmax"]) == 0


def test_library_calls_are_reported_or_forbidden(trial):
    instruments = Instruments(device_times=lambda: {"mine": 60.0, "gemm": 40.0}, own_kernels=["mine"])
    reported = judged(trial, Honest, instruments)
    assert reported.audit.own_share == pytest.approx(0.6)
    assert "others: gemm" in next(p.evidence for p in reported.audit.probes if p.name == "own_share")
    forbidden = judged(trial, Honest, instruments, library_calls="forbid")
    assert forbidden.outcome == "refused"
    assert "60.0% of the device's time" in forbidden.reason


@pytest.mark.parametrize(("tool", "because"), [("memcheck", "memory_error"), ("racecheck", "race")])
def test_what_the_sanitizer_finds_is_wrong(trial, tool, because):
    instruments = Instruments(sanitize=lambda name: Sanitized(int(name == tool), "Invalid write"))
    found = judged(trial, Honest, instruments)
    assert (found.outcome, found.because) == ("incorrect", because)
    assert "1 errors; the first: Invalid write" in found.evidence


def test_the_sanitizer_s_checks_go_on_beside_each_other_and_end_with_the_audit(trial):
    both, ended = threading.Barrier(2, timeout=20), []

    def sanitize(name):
        both.wait()
        if name == "racecheck":
            time.sleep(0.2)
        ended.append(name)
        return Sanitized(int(name == "memcheck"), "Invalid write")

    found = judged(trial, Honest, Instruments(sanitize=sanitize))
    assert found.because == "memory_error"
    assert ended == ["memcheck", "racecheck"]


def test_a_missing_tool_is_said(trial):
    def missing(tool):
        raise NotRunError("compute-sanitizer is not installed")

    found = judged(trial, Honest, Instruments(sanitize=missing))
    assert found.audit.probes[-1].status == "not_run"
    assert "not installed" in found.audit.probes[-1].evidence


def test_the_first_run_may_be_the_one_that_lost(trial):
    found = judged(trial, LosesFirst)
    assert (found.outcome, found.because, found.case) == ("incorrect", "race", "probe: races")


def test_a_place_where_values_lay_holds_others_afterwards(trial):
    found = judged(trial, Replaying, disabled=("new_values",))
    assert (found.outcome, found.because, found.case) == ("incorrect", "stale", "probe: new_storage")


def test_new_values_lie_where_others_lay_and_the_others_elsewhere(trial):
    found = judged(trial, Replaying)
    assert (found.outcome, found.because, found.case) == ("incorrect", "stale", "probe: new_values")


def test_a_probe_that_is_switched_off_is_not_made(trial):
    found = judged(trial, OneBuffer, disabled=("two_results",))
    assert isinstance(found, Measured)
    assert "two_results" not in {probe.name for probe in found.audit.probes}


def test_where_kernels_cannot_be_told_apart_forbidden_library_calls_are_presumed(trial):
    reported = judged(trial, Honest, Instruments())
    assert next(p.status for p in reported.audit.probes if p.name == "own_share") == "not_run"
    forbidden = judged(trial, Honest, Instruments(), library_calls="forbid")
    assert forbidden.outcome == "refused"
    assert "library calls are forbidden" in forbidden.reason


def test_two_results_that_find_no_room_are_not_computed(trial):
    scene = scene_of(trial.session, Honest(trial.session))
    scene.loaded.process.room = 1
    with pytest.raises(NotRunError, match="no room for two results"):
        two_results(scene)


def test_constants_that_find_no_room_in_one_more_process_are_not_changed():
    def full(kind, case):
        raise ChildRaisedError("OutOfMemoryError", "CUDA out of memory")

    with pytest.raises(NotRunError, match="no room"):
        _loaded_again(SimpleNamespace(loaded=SimpleNamespace(respawn=full)), None)


def test_no_element_is_changed_where_that_ends_the_device_s_process():
    loss = SimpleNamespace(nodes=[SimpleNamespace(op="aten.binary_cross_entropy.default")])
    task = SimpleNamespace(graph=loss, target=SimpleNamespace(kind="cuda", present=True))
    scene = SimpleNamespace(must_have_outputs=lambda: None, session=SimpleNamespace(task=task, cases=[]))
    with pytest.raises(NotRunError, match="end the whole device's process"):
        perturbation(scene)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 30])
@pytest.mark.parametrize("dtype", [torch.float16, torch.uint8, torch.float32])
def test_bits_are_compared_to_the_last_one_wherever_results_lie(count, dtype):
    lies = torch.ones(count + 3, dtype=dtype)
    some, others = lies[3:], torch.ones(count, dtype=dtype)
    assert same_bits(some, others)
    assert same_bits(others.clone(), others)
    for place in range(count):
        other = others.clone()
        other[place] = 0
        assert not same_bits(some, other)
        assert not same_bits(others, other)
    assert not same_bits(some, torch.ones(count + 8, dtype=dtype))


def test_the_sign_of_a_zero_and_a_nan_are_bits():
    assert not same_bits(torch.zeros(9), -torch.zeros(9))
    assert same_bits(torch.full((9,), float("nan")), torch.full((9,), float("nan")))
