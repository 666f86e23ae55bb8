"""Launches that a profiler saw, summed up by kernel; and whose kernels they are.

The candidate's own kernels are those that its source or its launch plan declares, unless the name is one that a library
uses. A kernel that calls itself as ATen does is counted as ATen's: a doubt never counts in the candidate's favour.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.errors import MachineError
from kernelwright.evaluate.sandbox.messages.tools import Activity
from kernelwright.knowledge.hardware import BlockShape, Hardware, hardware, resident_blocks
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import Dim3, LaunchPlan
from kernelwright.records.profile import Counters, KernelProfile

LONGEST_NAME = 200
"""Characters of a kernel's name that are kept: template arguments run to thousands."""
LIBRARY = re.compile(
    r"\bat::|\bc10::|\bcub::|\bthrust::|\bcutlass::|\bcublas|\bcudnn|\bcufft|\bcusparse|\bnccl|\bvoid gemm"
    r"|^(sm\d+|ampere|volta|turing|maxwell|hopper|nvjet|xmma|cask|cutlass|magma)_|_cudnn\b|^triton_(poi|red|per|tem)_"
    r"|splitKreduce|^Mem(cpy|set)\b",
    re.IGNORECASE,
)
"""Names of kernels of PyTorch, torch.compile, cuBLAS, cuDNN, CUTLASS as they ship it, CUB, NCCL, and the driver's copies."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#(?!include|define|if|endif|pragma)[^\n]*", re.DOTALL | re.MULTILINE)
_CALLED = re.compile(r"\b(\w+)\s*\(")
_JIT = re.compile(r"@(?:\w+\.)*jit\b(?:.*?)\n\s*def\s+(\w+)\s*\(", re.DOTALL)

_TAKEN = ("registers", "shared_bytes", "occupancy_theoretical", "occupancy_achieved", "waves", "counters")


@dataclass(frozen=True)
class Seen:
    """One launch, or `count` equal ones."""

    name: str
    duration_us: float | None
    grid: Dim3 | None = None
    block: Dim3 | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    count: int = 1
    fields: Mapping[str, float | None] = field(default_factory=dict)
    """Of `KernelProfile` or `Counters`, by our names; a profiler without counters gives none."""


def declared(candidate: Candidate, plan: LaunchPlan | None = None) -> frozenset[str]:
    """Names of the candidate's own kernels: from its plan if there is one, otherwise from its source."""
    if plan is not None:
        return frozenset(launch.kernel for launch in plan.launches)
    text = _COMMENT.sub(" ", candidate.source) if candidate.language != "triton" else candidate.source
    return frozenset((*_global_names(text), *_JIT.findall(candidate.source)))


def _global_names(text: str) -> Iterator[str]:
    """The function that follows each `__global__`; attributes such as `__launch_bounds__(256)` stand between."""
    for part in text.split("__global__")[1:]:
        name = next((m[1] for m in _CALLED.finditer(part) if not m[1].startswith("__")), None)
        if name is not None:
            yield name


def is_own(name: str, own: frozenset[str]) -> bool:
    """Whether a kernel is the candidate's own device code."""
    if LIBRARY.search(name):
        return False
    return name in own or base_name(name) in own


def base_name(name: str) -> str:
    """`scale` of `void mine::scale<float, 4>(float*, int)`."""
    bare = _without_brackets(plain_name(name))
    return bare.rsplit("::", 1)[-1].split(" ")[-1]


def plain_name(name: str) -> str:
    """Without return type and arguments."""
    name = name.strip().removeprefix("void ")
    if name.endswith(")"):
        depth = 0
        for index in range(len(name) - 1, -1, -1):
            depth += (name[index] == ")") - (name[index] == "(")
            if not depth:
                # Arguments follow their function at once; `Memset (Device)` has none.
                return name if not index or name[index - 1] == " " else name[:index]
    return name


def _without_brackets(name: str) -> str:
    kept, depth = [], 0
    for letter in name:
        depth += letter == "<"
        if not depth:
            kept.append(letter)
        depth -= letter == ">" and depth > 0
    return "".join(kept).strip()


@dataclass(frozen=True)
class Sum:
    """How launches become kernels: whose they are, how many calls were watched, on which chip."""

    own: frozenset[str]
    calls: int = 1
    chip: Hardware | None = None
    """Facts of the architecture with this device's own number of multiprocessors; None: no occupancy is worked out."""

    def kernels(self, launches: Sequence[Seen]) -> tuple[KernelProfile, ...]:
        """One entry for each name and shape, in the order of device time."""
        groups: dict[tuple[str, Dim3 | None, Dim3 | None], list[Seen]] = {}
        for seen in launches:
            groups.setdefault((seen.name, seen.grid, seen.block), []).append(seen)
        total = sum(s.duration_us or 0.0 for s in launches)
        found = [self._kernel(group, total) for group in groups.values()]
        return tuple(sorted(found, key=lambda k: -(k.duration_us or 0.0)))

    def _kernel(self, group: Sequence[Seen], total_us: float) -> KernelProfile:
        last = group[-1]
        known = all(s.duration_us is not None for s in group)
        duration = sum(s.duration_us or 0.0 for s in group)
        kernel = KernelProfile(
            name=plain_name(last.name)[:LONGEST_NAME],
            own=is_own(last.name, self.own),
            launches=max(1, round(sum(s.count for s in group) / self.calls)),
            duration_us=duration / self.calls if known else None,
            share=duration / total_us if known and total_us else None,
            grid=last.grid,
            block=last.block,
            registers=last.registers,
            shared_bytes=last.shared_bytes,
        )
        return self._placed(kernel).model_copy(update=_fields(last.fields))

    def _placed(self, kernel: KernelProfile) -> KernelProfile:
        """With the occupancy and the waves that follow from its shape and needs."""
        if self.chip is None or kernel.block is None or kernel.registers is None:
            return kernel
        warps = -(-kernel.block[0] * kernel.block[1] * kernel.block[2] // self.chip.warp)
        shape = BlockShape(warps=warps, registers=kernel.registers, shared_bytes=kernel.shared_bytes or 0)
        blocks = resident_blocks(self.chip, shape)
        if not blocks or kernel.grid is None:
            return kernel
        waves = kernel.grid[0] * kernel.grid[1] * kernel.grid[2] / (blocks * self.chip.multiprocessors)
        return kernel.model_copy(update={"occupancy_theoretical": blocks * warps / self.chip.warps, "waves": waves})


def chip_of(arch: str, multiprocessors: int) -> Hardware | None:
    """Facts of this device's architecture; None where nothing is known of it."""
    try:
        return hardware(arch).model_copy(update={"multiprocessors": multiprocessors})
    except MachineError:
        return None


def with_counters(traced: Sequence[KernelProfile], counted: Sequence[KernelProfile]) -> tuple[KernelProfile, ...]:
    """Times and launches of an undisturbed trace, with the counters of a second run: matched by base name and shape.

    A kernel of the trace that was not counted (a copy, a fill) stays without counters; one that only the second run has
    is left out, since it took no time that was seen.
    """
    keyed = {(base_name(k.name), k.grid, k.block): k for k in counted}
    merged = []
    for kernel in traced:
        match = keyed.get((base_name(kernel.name), kernel.grid, kernel.block))
        if match is not None:
            better = {n: v for n in _TAKEN if (v := getattr(match, n)) is not None}
            kernel = kernel.model_copy(update=better)
        merged.append(kernel)
    return tuple(merged)


def _fields(values: Mapping[str, float | None]) -> dict[str, object]:
    """Values under our names, sorted into the kernel's own fields and its counters."""
    mine = {n: v for n, v in values.items() if n in KernelProfile.model_fields and n != "duration_us" and v is not None}
    whole = {n: round(v) for n, v in mine.items() if n in ("registers", "shared_bytes")}
    counters = {n: v for n, v in values.items() if n in Counters.model_fields}
    return {**mine, **whole, **({"counters": Counters(**counters)} if counters else {})}


def seen_in(activities: Sequence[Activity]) -> list[Seen]:
    """Launches as the child tells of them (`tools/profiled.py`): what the driver recorded, which needs no privilege.

    They come from a process that may run untrusted code, so they are checked before they are believed.
    """
    return [
        Seen(
            name=one.name,
            duration_us=one.us,
            grid=one.grid,
            block=one.block,
            registers=one.registers,
            shared_bytes=one.shared_bytes,
            count=one.count,
        )
        for one in activities
    ]
