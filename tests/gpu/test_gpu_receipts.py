"""Receipts on the GPU: the same seeds give the same inputs again, and the versions name driver and toolkit."""

import gpu_kernels
import pytest

from kernelwright.records.candidate import Candidate

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_the_seeds_of_a_final_give_the_same_accuracy_again(gpu, name):
    source = {"softmax": gpu_kernels.SOFTMAX, "layer_norm": gpu_kernels.LAYER_NORM}[name]
    final = gpu.judge(name, source, effort="final")
    assert final.outcome == "measured", final
    assert len(final.seeds) > 5
    candidate = Candidate(language="triton", source=source)
    again = gpu.wait(gpu.referee.replay(gpu.task(name), candidate, final.seeds))
    assert again.outcome == "verified", again
    assert again.seeds == final.seeds
    assert again.accuracy == final.accuracy
    search = gpu.judge(name, source)
    assert search.seeds == ()
    assert search.accuracy != final.accuracy, "revealed seeds judge nobody else"


def test_a_wrong_kernel_is_wrong_on_the_same_seeds_too(gpu):
    wrong = gpu_kernels.SOFTMAX.replace("tl.exp(values", "tl.exp(1.01 * values", 1)
    assert wrong != gpu_kernels.SOFTMAX
    final = gpu.judge("softmax", wrong, effort="final")
    again = gpu.wait(gpu.referee.replay(gpu.task("softmax"), Candidate(language="triton", source=wrong), final.seeds))
    assert again.outcome == final.outcome
    assert getattr(again, "accuracy", None) == getattr(final, "accuracy", None)


def test_the_versions_name_driver_and_toolkit(gpu):
    versions = gpu.wait(gpu.referee.environment(gpu.target)).versions
    assert {"driver", "cuda driver api", "nvrtc", "cuda toolkit of torch"} <= versions.keys()
    assert versions["driver"] != "absent" or versions["cuda driver api"] != "absent"


def test_a_task_s_figures_are_taken_on_the_device(gpu):
    source = gpu.task("softmax").source
    checks = {check.name: check for check in gpu.wait(gpu.referee.examine(source, gpu.target)).checks}
    assert "us a call of eager" in checks["duration"].figure
    assert checks["duration"].status == "passed"
    gpu.tasks.clear()
