"""CUDA C++ with host code through nvcc, on a machine without a GPU."""

import ctypes
import os
from pathlib import Path

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.languages.cuda.compilers import messages, plain, usages
from kernelwright.evaluate.languages.cuda_host import build as cuda_host
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.tasks.kernel_file import read_kernel

SOURCE = Path(__file__).parent / "cuda_kernels" / "host_relu.cu"
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'
ptxas info    : Function properties for _Z1kPf
ptxas         .     8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 512 bytes smem
ptxas info    : Compiling entry function 'g' for 'sm_90a'
ptxas info    : Used 8 registers
kernel.cu(3): warning #177-D: variable "x" was declared but never referenced
"""


def has_nvcc():
    try:
        return bool(toolkit.nvcc())
    except MachineError:
        return False


needs_nvcc = pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")


def test_the_assembler_s_log_is_read():
    found = usages(LOG)
    assert found["_Z1kPf"] == (255, 28, 512)
    assert found["g"] == (8, None, 0)
    assert messages(LOG).splitlines() == [LOG.splitlines()[-1]]
    assert (plain("_Z4reluPKf"), plain("_ZN1a1kEv"), plain("g")) == ("relu", "_ZN1a1kEv", "g")


@needs_nvcc
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_a_source_becomes_a_library_with_facts(warm, tmp_path, arch):
    made = cuda_host.build(Order(warm, read_kernel(SOURCE), 120, arch=arch))
    (facts,) = made.facts.kernels
    assert (facts.name, facts.spill_bytes, facts.shared_bytes) == ("relu", 0, 0)
    assert facts.registers > 0
    path = tmp_path / "kernel.so"
    path.write_bytes(os.pread(made.descriptor, 1 << 24, 0))
    made.close()
    assert ctypes.CDLL(str(path)).relu_host


@needs_nvcc
def test_an_error_is_told_in_the_compiler_s_words(warm):
    source = read_kernel(SOURCE).source.replace("fmaxf", "fmaxg")
    failed = cuda_host.build(Order(warm, read_kernel(SOURCE).model_copy(update={"source": source}), 120, arch="sm_90"))
    assert isinstance(failed, BuildFailed)
    assert 'identifier "fmaxg" is undefined' in failed.log


def test_flags_are_refused_before_anything_runs():
    flagged = read_kernel(SOURCE).model_copy(update={"flags": ("-ccbin=evil",)})
    assert isinstance(cuda_host.build(Order(None, flagged, 1, arch="sm_90")), Refused)
