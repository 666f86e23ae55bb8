"""Kernels that reduce the same rows become one with several results: what they share is read and reduced once."""

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.ir.program import Kept, Kernel, Program, Step
from kernelwright.records.task import Task


def fused(program: Program, task: Task, families: Sequence[Family]) -> Program:
    """The program, each kernel with the last one before it that can make its results too."""
    out: list[Step] = []
    for step in program.steps:
        found = _joined(out, step, families) if isinstance(step, Kernel) else None
        if found is None:
            out.append(step)
        else:
            out[found[0]] = found[1]
    return replace(program, steps=tuple(out))


def _joined(before: Sequence[Step], kernel: Kernel, families: Sequence[Family]) -> tuple[int, Kernel] | None:
    """Which step takes the kernel's results too, and what becomes of it: none behind which something is made that it reads."""
    reads = {t.name for t in kernel.part.reads}
    for at, step in reversed(list(enumerate(before))):
        both = _united(step, kernel, families) if isinstance(step, Kernel) and step.family == kernel.family else None
        if both is not None:
            return at, both
        if reads & _touched(step):
            return None
    return None


def _touched(step: Step) -> set[str]:
    """Tensors that a step writes, or may write."""
    if isinstance(step, Kept):
        return {t.name for t in (*step.inputs.values(), *step.results)}
    return {t.name for t in step.part.writes}


def _united(first: Kernel, second: Kernel, families: Sequence[Family]) -> Kernel | None:
    """One kernel for both, where neither needs the other and the family takes them so."""
    wrote = {t.name for t in first.part.writes}
    if _scatters(first) or _scatters(second):
        return None
    if any(t.name in wrote for t in second.part.reads):
        return None
    if first.part.folds.isdisjoint(second.part.folds):
        return None
    tensors = {**second.part.tensors, **first.part.tensors}
    roots = (*first.part.roots, *second.part.roots)
    family = next(f for f in families if f.name == second.family)
    part = replace(first.part, roots=roots, sizes={**first.part.sizes, **second.part.sizes}, tensors=tensors)
    match = family.match(part)
    return Kernel(family.name, part, match.plan) if match is not None and match.plan is not None else None


def _scatters(kernel: Kernel) -> bool:
    return any(root.scatter is not None for root in kernel.part.roots)
