"""CUDA C++ with a launch plan, through NVRTC in a confined child, into a Program for the referee's own launcher.

Before anything is launched, every kernel must exist, its parameters must be those of the plan, and its shared memory
must fit a block of the device. No header of torch is read, and no driver is needed.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.errors import MachineError
from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.builder import Order, Program
from kernelwright.evaluate.languages.compiler import read_made
from kernelwright.evaluate.languages.cuda.arguments import size_of
from kernelwright.evaluate.languages.cuda.compilers import Usage, architecture, messages, refused_flags, spelled, usages
from kernelwright.evaluate.languages.cuda.expression import RecipeError
from kernelwright.evaluate.languages.cuda.recipe import Resolved, resolve
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import CompileCuda, CudaCompiled
from kernelwright.evaluate.sandbox.process import Process, TamperedError
from kernelwright.knowledge.hardware import BlockShape, Hardware, hardware, occupancy
from kernelwright.languages import too_large
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.measure import BuildFacts, KernelFacts
from kernelwright.tasks.launch_function import without_launch

MODULE, OWN_HOST, EXTENSION, INTERPRETED = False, False, False, False
LARGEST_BINARY = 64 << 20
"""Bytes of a binary that is loaded."""
MOST_STATIC_SHARED = 48 << 10
"""Bytes; more must be dynamic (CUDA C++ Programming Guide, shared memory of compute capability 7.x and later)."""
LONGEST_WHY = 160
"""Characters that are told of why NVRTC could not be loaded."""
MEMORY = 8 << 30
"""Address space that the compiler may add."""


@dataclass(frozen=True)
class _Compiled:
    """What the compiler's process says of a successful build; untrusted, but well-formed."""

    binary: bytes
    names: dict[str, str]
    """The plan's kernels, by what they are called in the binary."""
    parameters: Mapping[str, Sequence[int]]
    log: str
    version: str


def build(order: Order) -> Program | BuildFailed | Refused:
    """A Program for `arch` (`sm_75` … `sm_120`), with its plan worked out for the workload; or why there is none.

    Raises:
        MachineError: NVRTC is not here, or nothing is known of `arch`.
        ChildSlowError: it took longer than `limit_s`.
        ChildGoneError: the compiler's process was killed, by its memory limit for instance.
        TamperedError: its answer is not one that our code gives.
    """
    candidate, arch, device = order.candidate, order.arch, hardware(order.arch)
    if reason := refused_flags(candidate.flags):
        return Refused(reason=reason)
    if why := too_large(candidate.source):
        return Refused(reason=why)
    try:
        resolved = resolve(candidate, order.workload, device)
    except RecipeError as error:
        return BuildFailed(log=f"launch plan: {error}")
    start = time.perf_counter()
    built = _compile(order, resolved)
    if isinstance(built, BuildFailed):
        return built
    plan = _named(resolved, built.names)
    try:
        _check_macros(built.log, resolved.macros)
        kernels = _facts(plan.launches, built, device)
    except RecipeError as error:
        return BuildFailed(log=f"launch plan: {error}")
    facts = BuildFacts(
        compiler=f"nvrtc {built.version} for {architecture(arch)}",
        seconds=time.perf_counter() - start,
        warnings=messages(built.log),
        binary_bytes=len(built.binary),
        kernels=kernels,
    )
    return Program(modules=(built.binary,), plans=(plan,), facts=facts)


cross_compile = build


def _compile(order: Order, resolved: Resolved) -> _Compiled | BuildFailed:
    include = toolkit.include_directories()
    root = toolkit.toolkit()
    jail = Jail(
        directory="/",
        memory_bytes=MEMORY,
        readable=include,
        off=order.jail.off,
        environment={"CUDA_HOME": str(root)} if root else {},
    )
    names = sorted({launch.kernel for launch in resolved.plan.launches})
    child = Process(order.warm.spawn("nvrtc", jail), order.limit_s)
    try:
        command = CompileCuda(
            source=without_launch(order.candidate.source),
            names=names,
            options=_options(order.candidate.flags, resolved.macros, order.arch, include),
            include=include,
            library=toolkit.nvrtc_library(),
        )
        return _read(child, child.ask(command), names)
    finally:
        child.close()


def _options(flags: Sequence[str], macros: dict[str, int], arch: str, include: Sequence[str]) -> list[str]:
    fixed = ["--ptxas-options=-v", "--generate-line-info"]
    chosen = [flag for flag in spelled(flags) if flag not in ("--lineinfo", "--generate-line-info")]
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    return [f"--gpu-architecture={architecture(arch)}", *fixed, *chosen, *defined, *(f"-I{i}" for i in include)]


def _read(child: Process, compiled: CudaCompiled, names: Sequence[str]) -> _Compiled | BuildFailed:
    if compiled.missing:
        raise MachineError(f"NVRTC, which compiles CUDA C++, was not found: {toolkit.FIX}{_why(compiled.missing)}")
    kernels = compiled.kernels
    if kernels is None:
        return BuildFailed(log=compiled.log or "the compiler failed and said nothing")
    if kernels.made.nbytes > LARGEST_BINARY:
        return BuildFailed(log=f"the binary has {kernels.made.nbytes} bytes; at most {LARGEST_BINARY} are loaded")
    try:
        lowered = dict(zip(names, kernels.names, strict=True))
        binary = read_made(child, kernels.made)
        if not binary:
            raise ValueError("an empty binary")
        return _Compiled(binary, lowered, kernels.parameters, compiled.log, compiled.version[:20])
    except (ValueError, OSError) as error:
        raise TamperedError(f"malformed answer of the compiler's process: {error!r}") from None


def _why(said: str) -> str:
    """What the loader said, behind the cure: its first line, for it goes on with every folder that it looked into."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return f" ({first[:LONGEST_WHY]})" if first else ""


def _named(resolved: Resolved, names: dict[str, str]) -> LaunchPlan:
    launches = tuple(x.model_copy(update={"kernel": names[x.kernel]}) for x in resolved.plan.launches)
    return resolved.plan.model_copy(update={"launches": launches})


def _check_macros(log: str, macros: Mapping[str, int]) -> None:
    """A macro that the source defines again would leave the plan and the kernels with two values."""
    for name in re.findall(r'redefinition of macro "(\w+)"', log):
        if name in macros:
            raise RecipeError(
                f"the source defines {name}, which the plan sets: write #ifndef {name} around it, or leave it out"
            )


def _facts(launches: Sequence[Launch], built: _Compiled, device: Hardware) -> tuple[KernelFacts, ...]:
    """Facts of each kernel in each shape that it is launched with.

    Raises:
        RecipeError: a launch cannot succeed.
    """
    called = {lowered: name for name, lowered in built.names.items()}
    used_by = usages(built.log)
    found: dict[tuple[object, ...], KernelFacts] = {}
    for launch in launches:
        name = called[launch.kernel]
        _check_parameters(name, launch, built.parameters.get(launch.kernel))
        used = used_by.get(launch.kernel)
        facts = _kernel(name, launch, used, device)
        found[name, launch.block, launch.shared_bytes] = facts
    return tuple(found.values())


def _check_parameters(name: str, launch: Launch, sizes: Sequence[int] | None) -> None:
    given = tuple(size_of(a) for a in launch.arguments)
    if sizes is None or sizes == given:
        return
    if len(sizes) != len(given):
        raise RecipeError(f"the kernel {name} has {len(sizes)} parameters, and its launch passes {len(given)}")
    position = next(i for i, (a, b) in enumerate(zip(sizes, given, strict=True)) if a != b)
    raise RecipeError(
        f"argument {position} of {name} has {given[position]} bytes, and the parameter {sizes[position]}: give the number "
        "the kernel's type, such as i32(...) for int and i64(...) for long long"
    )


def _kernel(name: str, launch: Launch, used: Usage | None, device: Hardware) -> KernelFacts:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    warps = -(-threads // device.warp)
    if used is None:
        return KernelFacts(name=name, shared_bytes=launch.shared_bytes, warps=warps)
    shared = used.shared_bytes + launch.shared_bytes
    if used.shared_bytes > MOST_STATIC_SHARED:
        raise RecipeError(
            f"the kernel {name} has {used.shared_bytes} bytes of static shared memory; at most {MOST_STATIC_SHARED} may be "
            "static: declare it `extern __shared__` and give the launch `shared`"
        )
    if shared > device.shared_bytes_block:
        raise RecipeError(
            f"the kernel {name} takes {shared} bytes of shared memory ({used.shared_bytes} static, {launch.shared_bytes} "
            f"dynamic); a block on {device.arch} has at most {device.shared_bytes_block}: use smaller tiles"
        )
    registers = used.registers
    if registers and registers * threads > device.registers:
        raise RecipeError(
            f"the kernel {name} takes {registers} registers a thread, too many for a block of {threads} threads "
            f"({device.registers} in all): say __launch_bounds__({threads}), or make the block smaller"
        )
    shape = BlockShape(warps=warps, registers=registers, shared_bytes=shared) if registers else None
    return KernelFacts(
        name=name,
        registers=registers,
        spill_bytes=used.spill_bytes,
        shared_bytes=shared,
        warps=warps,
        occupancy=occupancy(device, shape) if shape else None,
    )
