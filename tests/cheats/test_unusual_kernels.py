"""Honest kernels of unusual build are right in every case: none may be refused for the way in which it computes."""

import asyncio

import pytest
from unusual_kernels import kernels

from kernelwright.records.evaluation import is_right
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from lanes import sampled

VERIFIED = Policy(baselines=("eager",), run_limit_s=60)
KERNELS = {one.name: one for ending in (".cpp", ".cu") for one in kernels(ending)}
IN_TRITON = {one.name: one for one in kernels(".py")}
ABSENT = Target(kind="cuda", arch="sm_90", present=False)
OFTEN = (
    "sums/superaccumulator",
    "exponentials/own_polynomial",
    "order/radix_of_keys",
    "blocks/warps_then_block",
)
"""A few, in every run."""


@pytest.mark.parametrize("name", sampled(list(KERNELS), lambda name: name in OFTEN))
def test_no_unusual_kernel_is_wrong(bench, name):
    _, source, candidate = KERNELS[name]
    with bench.alone(source) as task:
        found = bench.evaluate(task, candidate, VERIFIED, effort="verify")
    assert is_right(found), found


@pytest.mark.parametrize("name", sampled(list(IN_TRITON), lambda name: name in OFTEN))
def test_no_unusual_kernel_is_wrong_in_the_interpreter(warm_referee, name):
    _, source, candidate = IN_TRITON[name]

    async def judged():
        referee = warm_referee.under(VERIFIED)
        return await referee.evaluate(await referee.admit(source, ABSENT), candidate, "verify")

    found = asyncio.run(judged())
    assert is_right(found), found


def test_a_hundred_and_fifty_on_a_cpu_and_twenty_five_in_triton():
    assert len(KERNELS) >= 150
    assert len(IN_TRITON) >= 25
