"""Honest Triton kernels on the GPU that is here: right in every case, and timed by the device's clock."""

import gpu_kernels
import pytest

from kernelwright.records.candidate import Define

pytestmark = pytest.mark.gpu

KERNELS = {"mse": gpu_kernels.MSE, "softmax": gpu_kernels.SOFTMAX, "layer_norm": gpu_kernels.LAYER_NORM}


@pytest.mark.parametrize("name", [*KERNELS, "small"])
def test_the_reference_is_admitted(gpu, name):
    task = gpu.task(name)
    assert task.target == gpu.target
    assert task.graph.nodes
    assert [p.name for p in task.workload.parameters] == (["norm.weight", "norm.bias"] if name == "layer_norm" else [])


def test_the_environment_names_the_device_and_its_ceiling(gpu):
    gpu.task("mse")
    found = gpu.wait(gpu.referee.environment())
    assert found.device.kind == "cuda"
    assert found.device.name
    assert found.device.cores > 0
    assert found.device.memory_gbps > 100
    assert {"torch", "triton", "python"} <= set(found.versions)


@pytest.mark.parametrize("name", KERNELS)
def test_an_honest_kernel_is_measured(gpu, name):
    found = gpu.judge(name, KERNELS[name])
    assert found.outcome == "measured", found
    assert found.tier == 1
    timing = found.timing
    assert timing.clock == "device"
    assert timing.latency_us >= found.roofline.floor_us
    assert timing.call_us > 0
    assert len(timing.arms[0].samples_us) >= 4
    assert timing.against("eager").speedup.median > 0.3
    distributions = [case.distribution for case in found.accuracy.cases]
    assert {"as given", "times 3", "unaligned pointers"} <= set(distributions)
    assert all(case.error <= case.allowed for case in found.accuracy.cases)
    assert 0 < found.roofline.fraction < 2


def test_a_final_is_measured_anew_against_both_baselines(gpu):
    found = gpu.judge("mse", gpu_kernels.MSE, effort="final", baselines=("eager", "compile"))
    assert found.outcome == "measured", found
    assert found.timing.final
    assert {v.baseline for v in found.timing.versus} == {"eager", "compile"}
    assert found.timing.against("eager").speedup.median > 1.2, "eager reads three times as much"


def test_a_tunable_is_set_from_outside(gpu):
    found = gpu.judge("mse", gpu_kernels.MSE, defines=(Define(name="BLOCK", value=2048),))
    assert found.outcome == "measured", found
    unknown = gpu.judge("mse", gpu_kernels.MSE, defines=(Define(name="NOWHERE", value=1),))
    assert unknown.outcome == "build_failed"
    assert "NOWHERE" in unknown.log


PACKED = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.packed = None

    def forward(self, x):
        if self.packed is None:  # once: weights are constant
            self.packed = torch.stack([self.norm.weight, self.norm.bias]).detach()
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.packed[0], self.packed[1])
"""
HALF_PACKED = PACKED.replace(".detach()", ".detach().clamp(-6, 6)")


@pytest.mark.parametrize(("source", "tier"), [(gpu_kernels.LAYER_NORM, 1), (PACKED, 2)], ids=["launched", "packed"])
def test_a_final_changes_constant_weights_before_they_are_loaded(gpu, source, tier):
    found = gpu.judge("layer_norm", source, effort="final", weights="constant")
    assert found.outcome == "measured", found
    assert found.tier == tier
    told = next(probe for probe in found.audit.probes if probe.name == "perturbation")
    assert told.status == "passed", told
    assert "constant parameters changed before it was loaded" in told.evidence


def test_a_final_finds_constant_weights_that_are_taken_to_be_small(gpu):
    found = gpu.judge("layer_norm", HALF_PACKED, effort="final", weights="constant")
    assert (found.outcome, found.because) == ("incorrect", "perturbation"), found
