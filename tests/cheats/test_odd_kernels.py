"""Honest kernels of unusual tasks are measured: none may be refused for what the referee makes of its inputs."""

import pytest
from odd_kernels import ODD

import calm
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource
from kernelwright.tasks.kernel_file import parse_text
from lanes import sampled

QUICK = Policy(baselines=("eager",), run_limit_s=20, search_blocks=8, search_seconds=1)
OFTEN = ("half_exp", "lengths", "one_true", "scatter", "positions", "cancelling")
"""Of most kinds one, in every run; sums take long."""


@pytest.mark.parametrize("name", sampled(list(ODD), lambda name: name in OFTEN))
def test_no_odd_kernel_is_refused(bench, name):
    source = TaskSource(name=name, format="kernelbench", source=ODD[name].task)
    kernel = parse_text(ODD[name].kernel, "cpu")
    with bench.alone(source) as task:
        found = calm.until(lambda: bench.evaluate(task, kernel, QUICK), lambda found: found.outcome != "suspect")
    assert found.outcome == "measured", found


def test_there_are_at_least_forty():
    assert len(ODD) >= 40
