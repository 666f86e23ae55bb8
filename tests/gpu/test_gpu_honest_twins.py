"""Sixty honest kernels over many tasks on the GPU that is here: measured, every one of them; and promoted, some of them."""

import honest_kernels
import pytest

pytestmark = pytest.mark.gpu

REMEASUREMENT = (
    "softmax/online.cu",
    "mse/atomic.cu",
    "mse/two_stages.py",
    "argmax/any_of_the_largest.cu",
    "row_sum/compensated.cu",
)


def task(gpu, kernel):
    name = f"honest {kernel.partition('/')[0]}"
    if name not in gpu.tasks:
        source = honest_kernels.TASKS[kernel.partition("/")[0]].source("task")
        gpu.tasks[name] = gpu.wait(gpu.referee.admit(source, gpu.target))
    return gpu.tasks[name]


@pytest.mark.parametrize("name", honest_kernels.KERNELS)
def test_no_honest_kernel_is_refused(gpu, name):
    found = gpu.wait(gpu.referee.evaluate(task(gpu, name), honest_kernels.KERNELS[name]))
    assert found.outcome == "measured", found


@pytest.mark.parametrize("name", REMEASUREMENT)
def test_an_honest_kernel_is_promoted(gpu, name):
    found = gpu.wait(gpu.referee.evaluate(task(gpu, name), honest_kernels.KERNELS[name], "final"))
    assert found.outcome == "measured", found
    probes = {probe.name: probe for probe in found.audit.probes}
    assert probes["races"].status == probes["perturbation"].status == "passed"
    if found.tier == 1:
        assert probes["ablation"].status == "passed", probes["ablation"]
        assert found.audit.own_share == 1.0
    assert probes["memcheck"].status in ("passed", "not_run"), probes["memcheck"]


def test_there_are_at_least_sixty_over_twenty_tasks():
    assert len(honest_kernels.KERNELS) >= 60
    assert len(honest_kernels.TASKS) >= 20
