"""Triton through the confined child: what comes back, what is refused, what is not believed."""

import pytest

from kernelwright.evaluate.languages.builder import Dynamic, Program
from kernelwright.evaluate.languages.triton.build import capture
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.process import TamperedError
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import LARGEST_SOURCE
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), B=256)
        return out
"""
X = TensorSpec(name="x", shape=(1024,), dtype="float32")
WORKLOAD = Workload(inputs=(X,), parameters=(), outputs=(X,))


@pytest.fixture(scope="module")
def rehearsed():
    with Warm(("kernelwright.evaluate.entrypoints.tools.cross", "kernelwright.evaluate.triton.rehearsal")) as parent:
        yield parent


def ask(warm, source=SOURCE, limit_s=60.0):
    return capture(warm, Candidate(language="triton", source=source), "", WORKLOAD, hardware("sm_90"), limit_s)


def test_a_program_comes_back_whole(rehearsed):
    program = ask(rehearsed)
    assert isinstance(program, Program)
    assert len(program.plans) == len(program.unaligned_plans) == 1
    assert {p.launches[0].module for p in (*program.plans, *program.unaligned_plans)} == {0, 1}
    assert all(module.startswith(b"\x7fELF") for module in program.modules)
    assert program.facts.kernels[0].name == "copy"


def test_the_outcomes_of_a_candidate_that_is_no_program(rehearsed):
    dynamic = ask(rehearsed, SOURCE.replace("return out", "return out + 1"))
    assert isinstance(dynamic, Dynamic)
    assert "kernel.py:15 in forward: return out + 1" in dynamic.reason
    assert "computes outside its kernels: add" in dynamic.reason
    assert isinstance(ask(rehearsed, SOURCE.replace("mask=at < n)", "mask=at < m)")), BuildFailed)
    assert isinstance(ask(rehearsed, SOURCE + "#" * LARGEST_SOURCE), Refused)


def test_a_candidate_that_ends_or_hangs_its_process(rehearsed):
    with pytest.raises(ChildGoneError):
        ask(rehearsed, "import os\nos._exit(0)\n")
    with pytest.raises(ChildSlowError):
        ask(rehearsed, "while True: pass\n", limit_s=1.0)


FORGED = """
from kernelwright.evaluate.triton import recording
from kernelwright.records.launch import Pointer
recording.Null = lambda: {pointer}
"""


@pytest.mark.parametrize(
    "pointer",
    [
        'Pointer(buffer="output", index=1)',
        'Pointer(buffer="input", index=0, offset=4100)',
        'Pointer(buffer="parameter", index=0)',
    ],
)
def test_a_plan_may_point_into_nothing_else(rehearsed, pointer):
    with pytest.raises(TamperedError, match="there is no"):
        ask(rehearsed, FORGED.format(pointer=pointer) + SOURCE)


@pytest.mark.parametrize(
    "fields",
    [
        "address=8, sizes=[1 << 20]",
        "address=8, sizes=[1 << 40]",
        "address=-8, sizes=3",
        "address=8, sizes=[]",
        "",
    ],
)
def test_an_answer_of_its_own_is_tampering(rehearsed, fields):
    forged = f"cross._told = lambda fault: cross.Captured.model_construct({fields})"
    with pytest.raises(TamperedError):
        ask(rehearsed, f"from kernelwright.evaluate.entrypoints.tools import cross\n{forged}\nraise ValueError\n")


@pytest.mark.parametrize("text", ["'[' * 100000", "'{}'", "'x' * (5 << 20)", "'3'"])
def test_plans_that_are_none_are_tampering(rehearsed, text):
    says = f"class Forger: model_dump_json = staticmethod(lambda: {text})\n"
    forged = f"from kernelwright.evaluate.entrypoints.tools import cross\n{says}"
    with pytest.raises(TamperedError):
        ask(rehearsed, forged + "cross.CapturedPlans = lambda **fields: Forger\n" + SOURCE)
