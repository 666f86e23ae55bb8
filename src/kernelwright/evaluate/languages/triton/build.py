"""Triton through a confined child: the candidate's host code runs without a device and gives cubins and plans.

The answer comes from the process of untrusted code, so every plan is read as a record and may point into nothing but
the task's tensors and its own workspaces.
"""

import ctypes
from collections.abc import Iterator, Sequence

from kernelwright.evaluate.languages.builder import Built, Dynamic, Order, Program
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.child import ChildGoneError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import BuildCross, Capture, Captured, CapturedPlans
from kernelwright.evaluate.sandbox.process import ChildRaisedError, Process, TamperedError
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.knowledge.hardware import Hardware
from kernelwright.languages import too_large
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import LaunchPlan, Pointer, TensorMap
from kernelwright.records.task import Workload

MODULE, OWN_HOST, EXTENSION, INTERPRETED = True, False, False, True
LARGEST_PLANS, LARGEST_ANSWER = 4 << 20, 128 << 20
"""Bytes of all plans, and of these and the binaries together."""
MOST_MODULES = 1024
JAIL = Jail(directory="/", may_execute=True, memory_bytes=16 << 30, tmpfs_bytes=1 << 30)
"""Triton's compiler starts an assembler of its own."""


def build(order: Order) -> Built:
    """A Program of captured launches; Dynamic where they cannot be captured, and the host code must run on the device."""
    assert order.device is not None
    if not order.captures:
        return Dynamic(reason="a test switched capture off")
    try:
        return capture(order.warm, order.candidate, order.init, order.workload, order.device, order.limit_s)
    except ChildGoneError as gone:
        # Host code that ends its process is no failed build; on the device it will be seen for what it is.
        return Dynamic(reason=f"its host code {gone.reason}")


def cross_compile(order: Order) -> Built:
    """What the compiler says of every kernel that the host code launches for `arch`; nothing that could run.

    Raises:
        as `Builder.build`.
    """
    # The compiler of Triton starts an assembler of its own.
    jail = at_home(order.jail).model_copy(update={"may_execute": True})
    child = Process(order.warm.spawn("cross", jail), order.limit_s)
    command = BuildCross(candidate=order.candidate, workload=order.workload, init=order.init, arch=order.arch)
    try:
        return Dynamic(reason="its device is not here", facts=child.ask(command).facts)
    except ChildRaisedError as raised:
        return BuildFailed(log=raised.log)
    finally:
        child.close()


def at_home(jail: Jail) -> Jail:
    """Products and sums are fused as Triton does it by itself; its cache lies below HOME, the child's private directory."""
    return jail.model_copy(update={"environment": {**jail.environment, "TRITON_DEFAULT_FP_FUSION": "1"}})


def capture(
    warm: Warm, candidate: Candidate, init_source: str, workload: Workload, device: Hardware, limit_s: float
) -> Program | Dynamic | BuildFailed | Refused:
    """Compile a candidate and capture its launches.

    Args:
        warm: a warm parent; with `kernelwright.evaluate.triton.rehearsal` imported there, a second is saved.
        candidate: a `triton` candidate with its defines chosen.
        init_source: the task's file or what is left of it, for its `get_init_inputs`.
        workload: inputs, parameters and outputs at full size.
        device: what host code is told of the device; the architecture is compiled for.
        limit_s: for all of it, in seconds.

    Raises:
        ChildSlowError: it took longer than `limit_s`.
        ChildGoneError: the process ended; untrusted code may have ended it.
        TamperedError: the answer is not one that our own code gives.
    """
    if why := too_large(candidate.source):
        return Refused(reason=why)
    command = Capture(candidate=candidate, workload=workload, init=init_source, device=device)
    child = Process(warm.spawn("cross", JAIL), limit_s)
    try:
        return _program(child, child.ask(command), workload)
    except ChildRaisedError as raised:
        return BuildFailed(log=raised.log) if raised.name == "fault build" else Dynamic(reason=raised.log)
    except (ValueError, OSError) as error:
        raise TamperedError(f"no program: {error}") from None
    finally:
        child.close()


def _program(child: Process, captured: Captured, workload: Workload) -> Program:
    """The program that an answer describes.

    Raises:
        ValueError, OSError: it describes none.
    """
    described, *modules = _fetch(child, captured.address, captured.sizes)
    found = CapturedPlans.model_validate_json(described)
    program = Program(
        modules=tuple(modules),
        plans=found.plans,
        unaligned_plans=found.unaligned_plans,
        aligned_only=found.aligned_only,
        facts=found.facts,
    )
    flaws = [f for plan in (*program.plans, *program.unaligned_plans) for f in _flaws(plan, len(modules), workload)]
    if flaws or not program.plans:
        raise ValueError("; ".join(flaws) or "it has no plan")
    return program


def _fetch(child: Process, address: int, sizes: Sequence[int]) -> Iterator[bytes]:
    total = sum(sizes)
    if total > LARGEST_ANSWER or not 0 < len(sizes) <= MOST_MODULES or sizes[0] > LARGEST_PLANS:
        raise ValueError(f"{len(sizes)} parts of {total} bytes, {sizes[:1]} of them plans, are not what is loaded")
    buffer = ctypes.create_string_buffer(total)
    kernel.read_process(child.child.pid, [(address, total)], ctypes.addressof(buffer))
    view, start = memoryview(buffer), 0
    for size in sizes:
        yield bytes(view[start : start + size])
        start += size


def _flaws(plan: LaunchPlan, modules: int, workload: Workload) -> Iterator[str]:
    """Pointers beyond what the launcher holds, and binaries that there are not."""
    limits = {
        "input": [t.nbytes for t in workload.tensors],
        "parameter": [t.nbytes for t in workload.parameters],
        "output": [t.nbytes for t in workload.outputs],
        "workspace": [w.nbytes for w in plan.workspaces],
    }
    for number in (*plan.zeroed_outputs, *plan.renewed):
        if not 0 <= number < len(workload.outputs):
            yield f"there is no output {number}"
    for launch in plan.launches:
        if launch.module >= modules:
            yield f"there is no module {launch.module}"
        for argument in launch.arguments:
            pointer = argument.pointer if isinstance(argument, TensorMap) else argument
            if isinstance(pointer, Pointer):
                sizes = limits[pointer.buffer]
                if pointer.index >= len(sizes) or pointer.offset > sizes[pointer.index]:
                    yield f"there is no {pointer.buffer} {pointer.index} at {pointer.offset}"
