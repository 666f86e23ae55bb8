"""What the author can write for a task in one language: a space of schedules, where to start in it, and how to write one.

A family may take a task as a whole, as that of rows does. Any other graph is partitioned among the families of kernels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from kernelwright.knowledge.hardware import architectures, hardware
from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.families.product.plan import Product, rounds_factors
from kernelwright.propose.author.families.product.schedule import SCALED, product_starts
from kernelwright.propose.author.families.table import CPP, TRITON
from kernelwright.propose.author.ir.program import Kernel, Part, Program
from kernelwright.propose.author.ir.space import Setting, Space
from kernelwright.propose.author.lower.cpp_file import write_program as write_loops
from kernelwright.propose.author.lower.partition import partition
from kernelwright.propose.author.lower.schedules import Schedules
from kernelwright.propose.author.lower.triton_file import write_program
from kernelwright.propose.author.read.read import read
from kernelwright.propose.author.read.recurrent import unrolled
from kernelwright.propose.author.rules import table as rules
from kernelwright.records.candidate import Candidate
from kernelwright.records.graph import OpNode
from kernelwright.records.task import Target, Task

DOUBLES = 4096
"""Pairs of changes that are estimated."""


@dataclass(frozen=True)
class Design:
    """One way to do a task, with its freedoms."""

    space: Space[Any]
    default: Any
    """The schedule that a person would start with."""
    write: Callable[[Any], Candidate]
    program: Program
    """The kernels and what stays as it was."""
    cost: Callable[[Any], float] | None = None
    """Estimated microseconds; None: nobody estimates."""
    plain: Any = None
    """The default without factors that are scaled to float16, whose few exponents may not do; None: there are none."""

    @property
    def family(self) -> str:
        """Of the kernels, and what is free in them: schedules of one family can be exchanged."""
        kernels = "+".join(kernel.family for kernel in self.program.kernels)
        return f"{kernels}({','.join(option.name for option in self.space.options)})"

    def stays(self, task: Task) -> str:
        """What PyTorch still does, and which share of the task that is by estimate; empty where it does nothing."""
        if not self._kept:
            return ""
        names = ", ".join(node.op for node in self._kept)
        return f"PyTorch keeps {names}, about {self.share_kept(task):.0%} of the work"

    def share_kept(self, task: Task) -> float:
        """The share of the task that PyTorch still does, by estimate."""
        return sum(map(_work, self._kept)) / max(1.0, sum(map(_work, task.graph.nodes)))

    @property
    def _kept(self) -> list[OpNode]:
        return [step.node for step in self.program.kept]

    @property
    def algebra(self) -> str:
        """The rules that rewrote the task, in words; empty where none did."""
        return f"by algebra: {', '.join(self.program.rules)}" if self.program.rules else ""

    def tries(self, count: int) -> list[Any]:
        """The default, and then what differs from it in one or two options, the cheapest by estimate first.

        The last one is the plain one: where float16 is not right, others of its kind are not either.
        """
        start = self.default
        single = [self.space.turned(start, move) for move in self.space.moves(start)]
        if self.cost is None:
            return self._different([start, *single], count)
        double = (self.space.turned(schedule, move) for schedule in single for move in self.space.moves(schedule))
        ranked = sorted([*single, *islice(double, DOUBLES)], key=self.cost)
        if self.plain is None or count < 2:
            return self._different([start, *ranked], count)
        return [*(s for s in self._different([start, *ranked], count - 1) if s != self.plain), self.plain]

    def _different(self, schedules: list[Any], count: int) -> list[Any]:
        """The first ones of which no two make the same kernel."""
        found: dict[str, Any] = {}
        for schedule in schedules:
            if len(found) == count:
                break
            found.setdefault(self.write(schedule).id, schedule)
        return list(found.values())


FLOPS_A_BYTE = 16
"""Operations that take as long as moving a byte, on a large device without tensor cores."""


def _work(node: OpNode) -> float:
    return max(node.bytes, node.flops / FLOPS_A_BYTE)


def triton_design(task: Task) -> Design:
    """Triton for a task.

    Raises:
        ProposeError: nothing of it is the author's to write.
    """
    program = _program(task, TRITON, rules.TRITON)
    schedules = Schedules(program, TRITON)
    precisions = {f"{prefix}precision": _precisions(task, kernel) for prefix, kernel in schedules.pairs()}
    space = _among(schedules.space(), precisions)
    first = {n: p[0] for n, p in precisions.items() if n in space.by_name}
    default = plain = schedules.default.model_copy(update=first)
    for prefix, kernel in schedules.pairs():
        if isinstance(kernel.plan, Product):
            allowed = space.by_name[f"{prefix}precision"].values if kernel.plan.precise else ()
            unscaled = [p for p in allowed if p not in SCALED]
            default = _cheapest(default, prefix, product_starts(kernel.plan, allowed), schedules)
            plain = _cheapest(plain, prefix, product_starts(kernel.plan, unscaled), schedules)
    design = _design(task, program, schedules, write_program, TRITON)
    return _within_threads(
        replace(design, space=space, default=default, plain=plain if plain != default else None), task.target
    )


def cpp_design(task: Task) -> Design:
    """C++ for a task.

    Raises:
        ProposeError: it is not the author's to write.
    """
    program = _program(task, CPP, rules.CPP)
    design = _design(task, program, Schedules(program, CPP), write_loops, CPP)
    design.write(design.default)
    return design


DESIGNS: dict[str, Callable[[Task], Design]] = {"cpp": cpp_design, "triton": triton_design}
"""By language."""


def _program(task: Task, families: Sequence[Family], rewritings: rules.Rules) -> Program:
    """One kernel where a family takes the whole task, else the parts that families take."""
    task = unrolled(task)
    reading = read(task)
    for family in families:
        if family.claim and (plan := family.claim(task, reading)):
            outputs = tuple(output.tensor for output in plan.outputs)
            return Program(plan.name, plan.arguments, outputs, (), (Kernel(family.name, Part((), {}, {}), plan),))
    claimable = not reading.stored and not task.workload.state
    # Who looked at whether the task can be claimed has merged axes.
    return partition(task, read(task) if claimable else reading, families, rewritings)


def _design(
    task: Task, program: Program, schedules: Schedules, write: Callable[..., Candidate], families: Sequence[Family]
) -> Design:
    return Design(
        schedules.space(), schedules.default, lambda schedule: write(task, program, families, schedule), program,
        None if schedules.claimed else schedules.cost,
    )  # fmt: skip


def _within_threads(design: Design, target: Target) -> Design:
    """The design with no more warps than a block of the device has threads for: one of AMD's is 64 of 1024."""
    if target.arch not in architectures():
        return design
    device = hardware(target.arch)
    most = device.threads_block // device.warp
    named = [name for name in type(design.default).model_fields if name.endswith("warps")]

    def fitted(schedule: Any) -> Any:  # noqa: ANN401  the record is made for the program
        return schedule.model_copy(update={name: min(getattr(schedule, name), most) for name in named})

    options = [
        replace(o, values=tuple(v for v in o.values if int(v) <= most)) if o.name in named else o
        for o in design.space.options
    ]
    space, plain = replace(design.space, options=tuple(options)), design.plain and fitted(design.plain)
    return replace(design, space=space, default=fitted(design.default), plain=plain)


def _cheapest(schedule: Any, prefix: str, ways: Sequence[dict[str, Setting]], schedules: Schedules) -> Any:  # noqa: ANN401
    """The schedule with that way to begin one kernel that costs least by estimate."""
    named = [{prefix + name: value for name, value in way.items()} for way in ways]
    return min((schedule.model_copy(update=way) for way in named), key=schedules.cost)


LACKING: dict[str, tuple[str, ...]] = {"hip": ("tf32x3", "tf32"), "gfx942": ("tf32x3",)}
"""Products that a compiler lacks, by kind of device or by architecture: AMD's has none in three of TF32, and in one of TF32
for `gfx942` alone."""


def _precisions(task: Task, kernel: Kernel) -> tuple[str, ...]:
    """How a kernel may make float32 products, the usual way first."""
    lacking = LACKING.get(task.target.arch, LACKING.get(task.target.kind, ()))
    return tuple(way for way in _usual_precisions(task, kernel) if way not in lacking)


def _usual_precisions(task: Task, kernel: Kernel) -> tuple[str, ...]:
    """The same wherever Triton is.

    Its interpreter has no products in several bfloat16 numbers. Three of them keep about sixteen bits, which is enough where
    PyTorch itself rounds the factors to TF32's eleven. Attention has all of float32: six products of bfloat16 were 1.4 times
    as fast as three of TF32 there (docs/log.md, 2026-11-27).
    """
    if not task.target.present:
        return ("tf32x3", "ieee")
    if not isinstance(kernel.plan, Product):
        return ("bf16x6", "tf32x3", "ieee")
    if rounds_factors(task, kernel.plan):
        return ("tf32", "fp16", "bf16x3", "tf32x3")
    return ("bf16x6", "fp16x3", "tf32x3", "ieee")


def _among(space: Space[Any], precisions: dict[str, tuple[str, ...]]) -> Space[Any]:
    """The space with no other precisions than these."""
    left = {o.name: tuple(v for v in precisions.get(o.name, o.values) if v in o.values) for o in space.options}
    options = [replace(o, values=left[o.name]) for o in space.options]
    return Space(space.record, tuple(options))


def shape_class(task: Task) -> str:
    """The shapes as far as a schedule cares: the largest tensor's dtype, its elements and its rows, as powers of two."""
    largest = max((*task.workload.tensors, *task.workload.outputs), key=lambda tensor: tensor.numel)
    row = largest.shape[-1] if largest.shape else 1
    return f"{largest.dtype} 2^{largest.numel.bit_length()} elements, rows of 2^{row.bit_length()}"
