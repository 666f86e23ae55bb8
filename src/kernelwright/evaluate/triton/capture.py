"""A Triton candidate's launches as launch plans, so that the referee's own launcher can run them.

The candidate's host code runs at full size on tensors without memory, as for an architecture that is not here; each
launch is compiled and recorded with its arguments. Host code is static if it only allocates, looks and launches, and if
two calls in a row give the same plan at other addresses.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import torch
import triton
from triton.compiler.errors import CompilationError
from triton.runtime.errors import TritonError

from kernelwright.errors import RefereeError
from kernelwright.evaluate.triton.binding import Bound, bind
from kernelwright.evaluate.triton.cross import build_facts
from kernelwright.evaluate.triton.cubin import assembler_log
from kernelwright.evaluate.triton.device import CudaPretence, RecordingDriver, absent_gpu, without_values
from kernelwright.evaluate.triton.fault import Boundary, Fault, FaultKind
from kernelwright.evaluate.triton.ledger import NotStaticError, TensorTracker
from kernelwright.evaluate.triton.model import (
    arguments_of,
    call,
    construct,
    empty,
    load_entry,
    load_module,
    private_path,
)
from kernelwright.evaluate.triton.recording import Modules, Recording
from kernelwright.evaluate.triton.tuning import Choice, RejectedError, Tuners
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.measure import BuildFacts
from kernelwright.records.task import Workload

KINDS: dict[type[BaseException], FaultKind] = {
    CompilationError: "build",
    TritonError: "build",
    SyntaxError: "build",
    ImportError: "build",
}


@dataclass(frozen=True)
class Captured:
    """What a capture found."""

    modules: tuple[bytes, ...]
    plans: tuple[LaunchPlan, ...]
    unaligned_plans: tuple[LaunchPlan, ...]
    """For inputs that are aligned to their elements only; empty where `plans` do for these too."""
    aligned_only: str
    """Why there are no plans for such inputs; empty where there are."""
    facts: BuildFacts


def capture(candidate: Candidate, task_source: str, workload: Workload, device: Hardware) -> Captured | Fault:
    """Every launch that the candidate makes on `workload`, compiled for `device`.

    Args:
        candidate: a `triton` candidate with its defines chosen.
        task_source: the task's file, for its `get_init_inputs`.
        workload: full-size shapes; no memory is taken for them.
        device: what the host code is told of the device.

    Returns:
        The plans; or a fault, of kind `build` where the candidate is wrong, of any other where its host code is not static.

    Raises:
        RefereeError: Triton was imported with TRITON_INTERPRET=1, so nothing would be compiled.
    """
    if triton.knobs.runtime.interpret:
        raise RefereeError("Triton was imported with TRITON_INTERPRET=1: unset it before the process starts")
    start = time.perf_counter()
    task = load_module(private_path("task"), task_source)
    path = private_path("kernel")
    with Boundary(path, KINDS) as boundary, absent_gpu(device) as driver, assembler_log(), _no_values():
        boundary.default = "run"
        subject = _Subject(_model(candidate, task, workload, path), workload, driver)
        plans = subject.plans(aligned=True)
        kernels = tuple(subject.modules.calls)
        with Boundary(path, KINDS) as strict:
            strict.default = "run"
            unaligned = subject.plans(aligned=False)
    if boundary.fault:
        return boundary.fault
    if strict.fault and strict.fault.kind == "unsupported":
        return strict.fault
    return Captured(
        modules=subject.modules.cubins,
        plans=plans,
        unaligned_plans=() if strict.fault or unaligned == plans else unaligned,
        aligned_only=strict.fault.log if strict.fault else "",
        facts=build_facts(kernels, device, time.perf_counter() - start),
    )


@contextmanager
def _no_values() -> Iterator[None]:
    with without_values(), torch.no_grad():
        yield


def _model(candidate: Candidate, task: ModuleType, workload: Workload, path: Path) -> Bound:
    """The model; its parameters have no values here, so that only names and shapes can say which they are.

    Raises:
        NotStaticError: they do not say it.
    """
    parameters = {p.name: empty(p) for p in workload.parameters}
    with CudaPretence():
        model = construct(load_entry(path, candidate), task)
        bound = bind(model, parameters, valued=False, constants=workload.constants)
        if bound.told.left or bound.told.by_method:
            raise NotStaticError("which of its tensors are the reference's parameters, only their values tell")
        bound.give(parameters)
    return bound


@dataclass
class _Subject:
    """A model that is called again and again, and watched."""

    bound: Bound
    workload: Workload
    driver: RecordingDriver

    def __post_init__(self) -> None:
        self.modules = Modules()
        self.tuners = Tuners()

    def plans(self, aligned: bool) -> tuple[LaunchPlan, ...]:
        """One plan for each configuration that compiles.

        Raises:
            NotStaticError, and whatever untrusted code and its compiler raise.
        """
        choice, first = self._first(aligned)
        plans, others = [first], self.tuners.others(choice)
        if aligned:
            ahead([partial(self._settled, other, a) for other in others for a in (True, False)])
        for other in others:
            try:
                plans.append(self._settled(other, aligned))
            except RejectedError:
                continue
        return tuple(plans)

    def _first(self, aligned: bool) -> tuple[Choice, LaunchPlan]:
        """Each tuner's first configuration that compiles."""
        choice = Choice()
        while True:
            try:
                return choice, self._settled(choice, aligned)
            except RejectedError as rejected:
                if rejected.index + 1 == self.tuners.counts[rejected.tuner]:
                    raise rejected.cause from None
                choice = choice.having(rejected.tuner, rejected.index + 1)

    def _settled(self, choice: Choice, aligned: bool) -> LaunchPlan:
        """What two calls in a row agree on."""
        self.tuners.choice = choice
        first, again = self._call(aligned), self._call(aligned)
        if first.model_dump_json() != again.model_dump_json():
            raise NotStaticError("launches something else when it is called again, or when its tensors lie elsewhere")
        return first

    def _call(self, aligned: bool) -> LaunchPlan:
        pretence = CudaPretence()
        ledger = TensorTracker(aligned, lambda: pretence.named_gpu)
        recording = Recording(ledger, self.modules)
        self.driver.on_launch, self.driver.address = recording.add, ledger.address
        arguments = arguments_of(self.workload)
        ledger.own("input", [a for a in arguments if isinstance(a, torch.Tensor)])
        ledger.own("parameter", list(self.bound.own.values()))
        with pretence, self.tuners.installed(), ledger:
            result = call(self.bound.model, self.workload, arguments)
        return recording.plan(result, self.workload, self.tuners.label())


MOST = 16
"""Processes at a time."""


def ahead(jobs: Sequence[Callable[[], object]]) -> None:
    """Share `jobs` among as many forks as there are cores, and wait for them, for what they leave in Triton's cache on disk.

    Threads would not do: most of a compile holds the interpreter's lock. Whatever a fork raises is nobody's, and whoever
    comes later compiles again. Where this process has other threads, whose locks a fork would inherit, nothing is done ahead.
    """
    alone = len(list(Path("/proc/self/task").iterdir())) == 1
    count = min(len(jobs), len(os.sched_getaffinity(0)), MOST) if alone else 0
    for process in [_fork(jobs[number::count]) for number in range(count)]:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)


def _fork(jobs: Sequence[Callable[[], object]]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        for job in jobs:
            with contextlib.suppress(Exception):
                job()
    finally:
        os._exit(0)
