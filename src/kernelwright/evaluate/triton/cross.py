"""A Triton candidate compiled for an architecture that is not here.

The candidate's own host code runs at full size on tensors without memory. Each of its launches compiles the kernel with
its real signature, specialisation and configuration, and is recorded instead of run. No time is claimed, and nothing
says whether the kernel is right.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

import torch
import triton
from triton.compiler.errors import CompilationError
from triton.runtime.errors import TritonError

from kernelwright.errors import RefereeError
from kernelwright.evaluate.triton.binding import loaded
from kernelwright.evaluate.triton.cubin import LOG_KEY
from kernelwright.evaluate.triton.device import Call, CudaPretence, RecordingDriver, absent_gpu, without_values
from kernelwright.evaluate.triton.fault import Boundary, Fault, FaultKind
from kernelwright.evaluate.triton.model import (
    Entry,
    arguments_of,
    call,
    construct,
    empty,
    load_entry,
    load_module,
    private_path,
)
from kernelwright.evaluate.triton.vendor import VENDORS
from kernelwright.knowledge.hardware import BlockShape, Hardware, hardware, occupancy
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts, KernelFacts
from kernelwright.records.task import Workload

KINDS: dict[type[BaseException], FaultKind] = {CompilationError: "build", TritonError: "build"}


def cross_compile(candidate: Candidate, task_source: str, workload: Workload, arch: str) -> BuildFacts | Fault:
    """Compile every kernel that the candidate launches on `workload`, for `arch`.

    Args:
        candidate: a `triton` candidate with its defines chosen.
        task_source: the task's file, for its `get_init_inputs`.
        workload: full-size shapes; no memory is taken for them.
        arch: such as `sm_90` or `gfx942`.

    Raises:
        MachineError: no facts are known of `arch`.
        RefereeError: Triton was imported with TRITON_INTERPRET=1, so nothing would be compiled.
    """
    if triton.knobs.runtime.interpret:
        raise RefereeError("Triton was imported with TRITON_INTERPRET=1: unset it before the process starts")
    device = hardware(arch)
    start = time.perf_counter()
    task = load_module(private_path("task"), task_source)
    path = private_path("kernel")
    launches: list[Call] = []
    log = VENDORS[device.kind].assembler_log()
    with Boundary(path, KINDS) as boundary, absent_gpu(device) as driver, log, torch.no_grad():
        entry = load_entry(path, candidate)
        boundary.default = "run"
        _launch(entry, task, workload, driver)
        launches = driver.launches
    return boundary.fault or build_facts(launches, device, time.perf_counter() - start)


def _launch(entry: Entry, task: ModuleType, workload: Workload, driver: RecordingDriver) -> None:
    """Run the model on tensors without values, or without writing any where that does not do.

    Host code that asks for values, and custom operators, which hide their launches, need real tensors.
    Their memory costs nothing until it is written; what is read there is zero.
    """
    with suppress(RuntimeError), without_values():
        run(entry, task, workload)
        if driver.launches:
            return
    driver.launches.clear()
    run(entry, task, workload)


def run(entry: Entry, task: ModuleType, workload: Workload) -> object:
    """What the model returns on tensors that nobody has filled."""
    with CudaPretence():
        model = construct(entry, task)
        loaded(model, {p.name: empty(p) for p in workload.parameters}, constants=workload.constants)
        return call(model, workload, arguments_of(workload))


def build_facts(launches: Sequence[Call], device: Hardware, seconds: float) -> BuildFacts:
    """The compiler's facts of every distinct kernel among `launches`."""
    distinct = {(launch.name, launch.cubin): launch for launch in launches}
    return BuildFacts(
        compiler=f"triton {triton.__version__} for {device.arch}",
        seconds=seconds,
        binary_bytes=sum(len(launch.cubin) for launch in distinct.values()) or None,
        kernels=tuple(_kernel(launch, device) for launch in distinct.values()),
    )


def _kernel(launch: Call, device: Hardware) -> KernelFacts:
    log = getattr(launch.metadata, LOG_KEY, "")
    vendor = VENDORS[device.kind]
    used = vendor.registers(log)
    shared, warps = launch.metadata.shared, launch.metadata.num_warps
    return KernelFacts(
        name=launch.name,
        registers=used,
        spill_bytes=vendor.spill_bytes(log),
        shared_bytes=shared,
        warps=warps,
        occupancy=occupancy(device, BlockShape(warps=warps, registers=used, shared_bytes=shared)) if used else None,
    )
