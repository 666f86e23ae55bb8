"""A smaller workload that the same task accepts, so that an interpreter can run it in seconds.

First the leading dimension of the inputs shrinks, for which many kernels are written; then, where that is far from
enough, any size that several dimensions share, last the integer constants of the task's own source. Each step is kept
only if the reference, run on tensors without values, accepts it. Primes are preferred, because no block size divides
them. The grader draws inputs for the reduced workload, or cuts tensors that it has.
"""

from collections.abc import Callable, Iterator, Sequence
from math import isqrt, prod
from types import ModuleType
from typing import NamedTuple

import torch

from kernelwright import calltree
from kernelwright.evaluate.triton.binding import held
from kernelwright.evaluate.triton.device import without_values
from kernelwright.evaluate.triton.fault import Boundary
from kernelwright.evaluate.triton.model import (
    arguments_of,
    call,
    define,
    flatten,
    integers,
    load_module,
    private_path,
    reference_of,
    written,
)
from kernelwright.records.base import Record
from kernelwright.records.candidate import Define
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

ELEMENTS = 1 << 19
"""Elements of all tensors together that are aimed at: a second or so of the interpreter's time."""
TOLERABLE = 4
"""A workload this many times larger is still run rather than the task's source changed."""
PER_ROW = 512
"""Elements that a row of a matrix, or of a batch of them, counts for at least: many kernels give each a program."""
FEWEST_ROWS = 3
FEWEST = 17
"""Sizes other than the leading one stay at least as large, so that several small blocks are needed."""

Input = TensorSpec | Scalar
Change = Callable[[tuple[int, ...]], tuple[int, ...]]
"""A shape to another one."""
Fit = Callable[[float], int]
"""The size to use where at most so much is wanted."""


class Reduction(Record):
    """A smaller workload, and the task's source for it."""

    workload: Workload
    source: str
    """The task's file; differs from the original where its constants had to shrink."""
    description: str
    """Such as `61x4096 of 4096x4096`, of the largest input."""


class _Trial(NamedTuple):
    source: str
    workload: Workload
    most: int
    """Elements that are aimed at."""


def reduce_workload(source: str, workload: Workload, aligned: bool = False, most: int = ELEMENTS) -> Reduction:
    """The workload made small enough to interpret, or as it is where the task accepts nothing smaller.

    Args:
        source: the task's file.
        workload: its full-size workload.
        aligned: shrink to powers of two instead of primes. A kernel that is wrong at odd sizes and right
            at these relies on a divisibility that the full size may well have.
        most: elements that are aimed at.

    A reference that rejects inputs without values stays as large as it is.
    """
    full = _Trial(source, workload, most)
    if _probe(source, workload.inputs, workload) is None:
        return Reduction(workload=workload, source=source, description=_describe(workload, workload))
    fit = _power_of_two if aligned else _prime
    best = _descend(full, [_leading, *_size_options(workload)], fit)
    if cost(best.workload) > TOLERABLE * most:
        best = min(best, _shrink_constants(full, fit), key=lambda t: cost(t.workload))
    return Reduction(workload=best.workload, source=best.source, description=_describe(best.workload, workload))


def cut(tensor: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    """The leading corner of `tensor` in the shape of `spec`, dense, with an allocation of its own."""
    corner = tuple(slice(size) for size in spec.shape)
    return tensor[corner].clone(memory_format=torch.contiguous_format)


Option = Callable[[_Trial, Fit], Iterator[_Trial | None]]
"""Proposals to shrink one thing, best first; None where the reference rejected one."""


def _descend(trial: _Trial, options: Sequence[Option], fit: Fit) -> _Trial:
    """Turn each option until the workload is small enough, keeping what the reference accepts."""
    for place, option in enumerate(options):
        if cost(trial.workload) <= trial.most * (TOLERABLE if place else 1):
            break
        for proposal in option(trial, fit):
            if proposal is not None and cost(proposal.workload) < cost(trial.workload):
                trial = proposal
                break
    return trial


def _leading(trial: _Trial, fit: Fit) -> Iterator[_Trial | None]:
    """Shrink the leading dimension of all inputs that share it, then only of those of the highest rank."""
    tensors = [t for t in trial.workload.tensors if t.shape]
    if not tensors:
        return
    largest = max(tensors, key=lambda t: t.numel)
    size = largest.shape[0]
    rows = max(fit(size * trial.most / cost(trial.workload)), FEWEST_ROWS)
    if rows >= size:
        return
    for rank in (1, len(largest.shape)):
        yield _reshaped(trial, _shrink_leading(size, rows, rank))


def _shrink_leading(size: int, rows: int, rank: int) -> Change:
    return lambda shape: (rows, *shape[1:]) if len(shape) >= rank and shape[0] == size else shape


def _size_options(workload: Workload) -> list[Option]:
    """One option for each size among the inputs' dimensions, largest first; never one that values depend on."""
    sizes = {size for t in workload.tensors for size in t.shape if size > FEWEST}
    bounds = {t.bound for t in workload.tensors}
    rows = {t.shape[-1] for t in workload.tensors if t.domain is Domain.PROBABILITY and t.shape}
    return [_size_option(size) for size in sorted(sizes - bounds - rows, reverse=True)]


def _size_option(size: int) -> Option:
    def option(trial: _Trial, fit: Fit) -> Iterator[_Trial | None]:
        times = max((t.shape.count(size) for t in trial.workload.tensors), default=0)
        if times:
            factor = (trial.most / cost(trial.workload)) ** (1 / times)
            small = max(fit(size * factor), FEWEST)
            yield _reshaped(trial, lambda s: tuple(small if n == size else n for n in s))

    return option


def _shrink_constants(trial: _Trial, fit: Fit) -> _Trial:
    """Halve the largest integer constant of the task's source until the workload is small enough.

    A constant that bounds an index stays, since the values of inputs depend on it.
    """
    bounds = {t.bound for t in trial.workload.tensors}
    fixed = {i.name for i in integers(trial.source) if i.value in bounds}
    while cost(trial.workload) > trial.most:
        values = {i.name: i.value for i in integers(trial.source) if i.name not in fixed and i.value > FEWEST}
        if not values:
            break
        name = max(values, key=lambda n: values[n])
        halves = (max(size(values[name] / 2), FEWEST) for size in (fit, _power_of_two))
        proposals = (_defined(trial, name, half) for half in halves)
        smaller = next((p for p in proposals if p is not None), None)
        if smaller is None:
            fixed.add(name)
        trial = smaller or trial
    return trial


def _defined(trial: _Trial, name: str, value: int) -> _Trial | None:
    source = define(trial.source, (Define(name=name, value=value),))
    workload = _probe(source, None, trial.workload)
    return trial._replace(source=source, workload=workload) if workload else None


def _reshaped(trial: _Trial, change: Change) -> _Trial | None:
    inputs = [
        i if isinstance(i, Scalar) else i.model_copy(update={"shape": change(i.shape)}) for i in trial.workload.inputs
    ]
    workload = _probe(trial.source, inputs, trial.workload)
    return trial._replace(workload=workload) if workload else None


def _probe(source: str, inputs: Sequence[Input] | None, names: Workload) -> Workload | None:
    """Run the reference without values; the workload that it turns out to have, or None if it raises.

    Args:
        source: the task's file.
        inputs: what to call the model with; None for the shapes of the task's own `get_inputs`.
        names: names and domains of inputs, parameters and outputs, in order.
    """
    path = private_path("task")
    with Boundary(path) as boundary, without_values(), torch.no_grad():
        task = load_module(path, source)
        arguments = _own_inputs(task, names) if inputs is None else _arguments(inputs, names)
        model = reference_of(task)
        outputs = (*flatten(call(model, names, arguments)), *written(model.state_dict(), names, arguments))
        return Workload(
            inputs=tuple(map(_renewed, names.inputs, arguments)),
            parameters=tuple(map(_renewed_tensor, names.parameters, held(model).values())),
            outputs=tuple(map(_renewed_tensor, names.outputs, outputs)),
            tree=names.tree,
            result=names.result,
            changes=names.changes,
            state=names.state,
            constants=names.constants,
        )
    return None if boundary.fault else names


def _own_inputs(task: ModuleType, names: Workload) -> list[torch.Tensor | bool | int | float]:
    leaves, _ = calltree.flatten(task.get_inputs(), [spec.name for spec in names.inputs])
    return [value for _, value in leaves if isinstance(value, torch.Tensor | bool | int | float)]


def _arguments(inputs: Sequence[Input], names: Workload) -> list[torch.Tensor | bool | int | float]:
    return arguments_of(names.model_copy(update={"inputs": tuple(inputs)}))


def _renewed(spec: Input, argument: torch.Tensor | bool | int | float) -> Input:
    if isinstance(spec, Scalar):
        return spec.model_copy(update={"value": argument})
    return _renewed_tensor(spec, argument)


def _renewed_tensor(spec: TensorSpec, tensor: torch.Tensor) -> TensorSpec:
    return spec.model_copy(update={"shape": tuple(tensor.shape)})


def elements(workload: Workload) -> int:
    """Of all tensors."""
    return sum(t.numel for t in (*workload.tensors, *workload.parameters, *workload.outputs))


def cost(workload: Workload) -> int:
    """What a workload costs an interpreter: elements, or what rows count for if that is more; never zero."""
    rows = max((prod(t.shape[:-1]) for t in workload.tensors if len(t.shape) in (2, 3)), default=0)
    return max(elements(workload), PER_ROW * rows, 1)


def _describe(small: Workload, full: Workload) -> str:
    pairs = list(zip(small.tensors, full.tensors, strict=True))
    if not pairs:
        return "no input tensors"
    reduced, original = max(pairs, key=lambda p: p[1].numel)
    if small == full:
        return f"{_size(original)}, in full"
    return f"{_size(reduced)} of {_size(original)}"


def _size(spec: TensorSpec) -> str:
    return "x".join(map(str, spec.shape)) or "scalar"


def _power_of_two(most: float) -> int:
    return 1 << max(int(most), 1).bit_length() - 1


def _prime(most: float) -> int:
    """The largest prime that is not above `most`; 1 where there is none."""
    for number in range(int(most), 1, -1):
        if all(number % divisor for divisor in range(2, isqrt(number) + 1)):
            return number
    return 1
