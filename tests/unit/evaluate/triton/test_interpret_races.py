"""Programs of one launch that meet: what is ordered is right in every order, what is not is refused with its place."""

import pytest
import torch
from racing_kernels import BARRIER, COPY, PART, RIGHT, SUM, TURN, WRONG, kernel
from triton_candidates import NO_TASK, candidate

from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.interpret import Arguments, Way, interpret
from kernelwright.evaluate.triton.programs import ORDERS


@pytest.fixture
def outcomes(repaired):
    """What a kernel comes to in each order of its programs."""

    def run(body, host, x):
        source = candidate(kernel(body, host))
        return [repaired(interpret, source, NO_TASK, Arguments([x], {}), "sm_90", Way(order=o)) for o in ORDERS]

    return run


def wanted(name, x):
    if name == "split with a counter":
        return 2 * x.reshape(-1, 16, 4).sum((0, 2))
    return x.clone() if RIGHT[name][1] == COPY else x.sum()[None]


@pytest.mark.parametrize("name", RIGHT)
def test_what_programs_order_is_right_in_every_order(outcomes, name):
    x = torch.rand(64 * 20)
    for found in outcomes(*RIGHT[name], x):
        assert isinstance(found, tuple), found.log
        torch.testing.assert_close(found[0], wanted(name, x))


def test_programs_wait_for_all_others_again_and_again(outcomes):
    x = torch.rand(64 * 7)
    for found in outcomes(BARRIER, COPY, x):
        assert isinstance(found, tuple), found.log
        assert torch.equal(found[0], x.roll(-3 * 64))


@pytest.mark.parametrize("name", WRONG)
def test_what_nothing_orders_is_refused_with_its_place(outcomes, name):
    body, host, words = WRONG[name]
    faults = [f for f in outcomes(body, host, torch.rand(64 * 20)) if isinstance(f, Fault)]
    assert faults, "no order shows it"
    for fault in faults:
        assert fault.kind == "race", fault.log
        assert all(word in fault.log for word in ("program ", "lane ", "element ", "in kernel", *words)), fault.log


def test_programs_that_wait_for_ever_are_told(outcomes):
    for fault in outcomes(PART + TURN.format(turn="p + 1"), SUM, torch.rand(64 * 5)):
        assert (fault.kind, "waits for another" in fault.log) == ("deadlock", True)


def test_a_fault_of_one_ends_those_that_wait_for_it(outcomes):
    body = PART + "if p == 2:\n    tl.device_assert(n < 0, 'no')\n" + TURN.format(turn="3") + "tl.store(out, part)"
    for fault in outcomes(body, SUM, torch.rand(64 * 5)):
        assert (fault.kind, "device_assert" in fault.log) == ("assertion", True)


def test_elements_are_named_by_row_and_column(outcomes):
    body = "tl.store(out + at // 2, tl.load(x + at, mask=at < n), mask=at < n)"
    fault = outcomes(body, COPY, torch.rand(10, 128))[0]
    assert "element [0, 0] of 'out'" in fault.log, fault.log


def test_narrow_stores_to_wide_elements_are_told_apart(outcomes):
    """Each program stores two bytes of every element."""
    body = (
        "k = tl.arange(0, B)\nhalves = out.to(tl.pointer_type(tl.int16))\n"
        "bits = (tl.load(x + k).to(tl.int32, bitcast=True) >> (16 * p)).to(tl.int16)\ntl.store(halves + 2 * k + p, bits)"
    )
    host = COPY.replace("triton.cdiv(x.numel(), 64)", "2")
    x = torch.rand(64)
    assert [torch.equal(found[0], x) for found in outcomes(body, host, x)] == [True] * 3
    both = outcomes(body.replace("2 * k + p", "2 * k"), host, x)
    assert [f.kind for f in both] == ["race"] * 3
