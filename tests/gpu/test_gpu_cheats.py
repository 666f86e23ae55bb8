"""Cheats on the GPU that is here, each caught for its own reason or left without a gain; their honest twins are measured."""

import gpu_cheats
import gpu_cheats_cuda
import gpu_cheats_python
import gpu_kernels
import pytest

from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource

pytestmark = pytest.mark.gpu

CHEATS = {**gpu_cheats_python.CHEATS, **{f"{name} (CUDA)": c for name, c in gpu_cheats_cuda.CHEATS.items()}}
QUICK = Policy(search_blocks=4, final_blocks=8, baselines=("eager",), final_baselines=())
NO_GAIN, GAIN = 0.5, 0.9
"""A cheat that gains nothing takes at least this share of its twin's time; without its defence it takes less than this."""


class Cheats:
    """Judges kernels by name; what was measured once is known."""

    def __init__(self, gpu):
        self.gpu = gpu
        self.twins = {}

    def judge(self, kernel, cheat=None, disabled=()):
        name = f"cheats {kernel.task}"
        if name not in self.gpu.tasks:
            source = TaskSource(name=name, format="kernelbench", source=gpu_cheats.TASKS[kernel.task])
            self.gpu.tasks[name] = self.gpu.wait(self.gpu.referee.admit(source, self.gpu.target))
        options = {**(cheat.options if cheat else {}), "disabled": tuple(disabled)}
        effort = cheat.effort if cheat else "search"
        self.gpu.referee.policy = QUICK.model_copy(update=options)
        try:
            return self.gpu.wait(self.gpu.referee.evaluate(self.gpu.tasks[name], kernel.candidate(), effort))
        finally:
            self.gpu.referee.policy = QUICK

    def twin_us(self, name):
        if name not in self.twins:
            found = self.judge(gpu_cheats.TWINS[name])
            assert found.outcome == "measured", found
            self.twins[name] = found.timing.latency_us
        return self.twins[name]


@pytest.fixture(scope="module")
def cheats(gpu):
    return Cheats(gpu)


@pytest.mark.parametrize("name", gpu_cheats.TWINS)
def test_the_honest_twins_are_measured(cheats, name):
    kernel = gpu_cheats.TWINS[name]
    found = cheats.judge(kernel)
    assert found.outcome == "measured", found
    assert found.tier == (2 if kernel.language in ("python", "cuda_host") else 1)


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_caught_for_its_own_reason(cheats, name):
    cheat = CHEATS[name]
    found = cheats.judge(cheat.kernel, cheat, cheat.also)
    assert found.outcome == cheat.outcome, found
    assert getattr(found, "because", None) in (cheat.because or (None,)), found
    words = [getattr(found, field, "") for field in ("evidence", "reason", "log")]
    assert cheat.told.lower() in "\n".join(words).lower(), found
    assert not cheat.tier or found.tier == cheat.tier
    if cheat.outcome == "measured":
        assert found.timing.latency_us >= NO_GAIN * cheats.twin_us(cheat.twin)


@pytest.mark.parametrize("name", [name for name, cheat in CHEATS.items() if cheat.defence])
def test_without_its_defence_it_gets_through(cheats, name):
    cheat = CHEATS[name]
    found = cheats.judge(cheat.kernel, cheat, (*cheat.also, cheat.defence))
    assert found.outcome == "measured", found
    assert cheat.defence in found.disabled
    if cheat.twin:
        assert found.timing.latency_us < GAIN * cheats.twin_us(cheat.twin)


def test_nothing_is_left_for_the_next_process(cheats):
    """What the first judgement left would make the second one right."""
    cheat = CHEATS["what an earlier process left"]
    for _ in range(2):
        found = cheats.judge(cheat.kernel, cheat)
        assert found.outcome == "incorrect", found


def test_after_all_of_them_an_honest_kernel_is_what_it_was(cheats):
    before = cheats.twin_us("affine slowly")
    after = cheats.judge(gpu_cheats.TWINS["affine slowly"])
    assert after.outcome == "measured", after
    assert 0.8 < after.timing.latency_us / before < 1.25


def test_a_whole_kernel_on_another_stream_gains_nothing(gpu):
    """It is refused, since nobody waits for it; its time is below the floor, or what the other stream still does is added."""
    honest = gpu.judge("softmax", gpu_kernels.SOFTMAX).timing.latency_us
    refused = gpu.judge("softmax", gpu_kernels.WORKS_ON_ANOTHER_STREAM)
    assert refused.outcome in ("crashed", "incorrect"), refused
    found = gpu.judge("softmax", gpu_kernels.WORKS_ON_ANOTHER_STREAM, disabled=("stream_order",))
    if found.outcome == "measured":
        assert found.timing.latency_us >= GAIN * honest
    else:
        assert (found.outcome, found.because) in (("suspect", "below_floor"), ("suspect", "clock_disagrees")), found


def test_host_code_that_keeps_results_by_pointer_does_not_run_in_tier_one(gpu):
    """Its launch was captured: what is timed launches in every call."""
    honest = gpu.judge("small", gpu_kernels.SOFTMAX).timing.latency_us
    found = gpu.judge("small", gpu_kernels.REMEMBERS_POINTERS)
    assert (found.outcome, found.tier) == ("measured", 1), found
    assert found.timing.latency_us >= GAIN * honest
