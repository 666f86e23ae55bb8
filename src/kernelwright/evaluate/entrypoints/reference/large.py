"""A task of which this machine has no room, for a device that is not here: as data at full size, with values at a smaller one.

At full size its code runs on tensors without memory, which say shapes and dtypes. Everything that is seen of values (domains,
randomness, infinities) is seen at the smaller size: of indices, for instance, the largest that is drawn there.
"""

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.overrides import TorchFunctionMode

from kernelwright import calltree
from kernelwright.evaluate.entrypoints.reference import export
from kernelwright.evaluate.entrypoints.reference.task_file import executed, init_arguments, literal, module_of
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask, TaskLoaded
from kernelwright.evaluate.triton.binding import held
from kernelwright.evaluate.triton.device import without_values
from kernelwright.evaluate.triton.model import flatten
from kernelwright.evaluate.triton.reduce import ELEMENTS, reduce_workload
from kernelwright.records.graph import OpGraph
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec

if TYPE_CHECKING:
    from pydantic import JsonValue

SEEN = ELEMENTS << 4
"""Elements of all tensors at the size at which values are seen."""
AFTER_RANGE = frozenset({torch.randint, torch.randint_like})
"""What they are given before a size is no size."""
SIZED = frozenset(
    {
        torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.randperm, torch.arange, torch.eye,
        torch.normal, torch.Tensor.view, torch.Tensor.reshape, torch.Tensor.expand, torch.Tensor.new_empty,
        torch.Tensor.new_zeros, torch.Tensor.new_ones, torch.Tensor.new_full, torch.reshape, torch.broadcast_to,
    }
)  # fmt: skip
"""What makes or shapes a tensor by sizes."""


@dataclass(frozen=True)
class Large:
    """A task at both sizes."""

    full: Workload
    small: Workload
    source: str
    """The task's file for the smaller size."""
    init: str | None
    """The constructor's arguments at full size, as `TaskLoaded.init`."""

    def drawn(self, draw: Callable[[], object], inputs: Sequence[TensorSpec | Scalar]) -> object:
        """What `get_inputs` draws for these inputs, of their sizes from the beginning where it bears that, else as it is.

        Of a task with axes these are changed, so that lengths, offsets and choices follow; else what makes a tensor is.
        """
        wanted = [spec.shape for spec in inputs if isinstance(spec, TensorSpec)]
        sizes = _replaced((t.shape for t in self.full.tensors), wanted)
        if not sizes:
            return draw()
        for asked, instead in (*_at_axes(draw, sizes), (draw, sizes)):
            try:
                with _Smaller(instead):
                    found = asked()
                values = [v for _, v in calltree.flatten(found, ())[0] if isinstance(v, torch.Tensor)]
            except Exception:  # noqa: BLE001 (the task's own code: it is called again as it is)
                continue
            if [tuple(v.shape) for v in values] == wanted:
                return found
        return draw()

    def at_full_size(self, seen: TaskLoaded) -> TaskLoaded:
        """What was seen, with the shapes of the full size."""
        shapes = {t.name: t.shape for t in (*self.full.tensors, *self.full.parameters, *self.full.outputs)}

        def whole(spec: TensorSpec | Scalar) -> TensorSpec | Scalar:
            name = spec.name.removesuffix(".after")
            return spec if isinstance(spec, Scalar) else spec.model_copy(update={"shape": shapes[name]})

        tensors = {
            field: [whole(spec) for spec in getattr(seen, field)] for field in ("inputs", "parameters", "outputs")
        }
        return seen.model_copy(update={**tensors, "init": self.init})


def _replaced(full: Iterable[tuple[int, ...]], small: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """What becomes of sizes, if each becomes one other; else nothing."""
    changes = {
        (a, b) for one, other in zip(full, small, strict=True) for a, b in zip(one, other, strict=True) if a != b
    }
    return dict(changes) if len(dict(changes)) == len(changes) else {}


def _at_axes(draw: Callable[[], object], sizes: Mapping[int, int]) -> list[tuple[Callable[[], object], dict[int, int]]]:
    """The same with other values of the axes that it is given, and nothing else changed; nothing where it is given none."""
    if not isinstance(draw, partial):
        return []
    axes = {name: sizes.get(value, value) for name, value in draw.keywords.items() if type(value) is int}
    return [(partial(draw, **axes), {})] if axes != draw.keywords else []


class _Smaller(TorchFunctionMode):  # type: ignore[misc]
    """Tensors are made with other sizes than the code says."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        super().__init__()
        self._sizes = sizes

    def __torch_function__(
        self,
        func: Callable[..., object],
        _types: object,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Change what is a size."""
        named = dict(kwargs or {})
        if func in SIZED:
            args = tuple(map(self._small, args))
        elif func in AFTER_RANGE:
            args = tuple(self._small(a) if isinstance(a, tuple | list) else a for a in args)
        if func in SIZED | AFTER_RANGE and "size" in named:
            named["size"] = self._small(named["size"])
        return func(*args, **named)

    def _small(self, value: object) -> object:
        if isinstance(value, tuple | list):
            return tuple(map(self._small, value))
        return self._sizes.get(value, value) if type(value) is int else value


def nbytes(source: str) -> int:
    """Bytes of inputs, parameters and results of one call; zero where the task's code does not run without memory."""
    try:
        with torch.device("meta"), torch.no_grad():
            task, model, leaves, tree = _built(source)
            given = [v.to("meta") if isinstance(v, torch.Tensor) else v for _, v in leaves]
            args, kwargs = calltree.arguments(tree, given, vars(task))
            model.to("meta")
            tensors = [*given, *flatten(model(*args, **kwargs)), *model.state_dict().values()]
    except Exception:  # noqa: BLE001 (the task's own code: then nothing is known)
        return 0
    return sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))


def made_small(command: LoadTask) -> Large | None:
    """The task at both sizes; None where it is small enough, or where its code does not run without values."""
    if command.most_bytes is None:
        return None
    try:
        full, init = _without_memory(command.source)
    except Exception:  # noqa: BLE001 (the task's own code: then it is described as it is)
        return None
    if sum(t.nbytes for t in (*full.tensors, *full.parameters, *full.outputs)) <= command.most_bytes:
        return None
    found = reduce_workload(command.source, full, most=SEEN)
    return None if found.workload == full else Large(full, found.workload, found.source, init)


def _without_memory(source: str) -> tuple[Workload, str | None]:
    with without_values(), torch.no_grad():
        task, model, leaves, tree = _built(source)
        args, kwargs = calltree.arguments(tree, [value for _, value in leaves], vars(task))
        results = flatten(model(*args, **kwargs))
        inputs = tuple(
            export.spec_of(name, value) if isinstance(value, torch.Tensor) else Scalar(name=name, value=value)
            for name, value in leaves
        )
        workload = Workload(
            inputs=inputs,
            parameters=tuple(export.spec_of(name, value) for name, value in held(model).items()),
            outputs=tuple(export.spec_of(f"output{i}", value) for i, value in enumerate(results)),
            tree=tree,
        )
        return workload, literal(init_arguments(task))


def graph_without_memory(source: str, specs: list[TensorSpec | Scalar]) -> OpGraph:
    """The task's graph at full size.

    Raises:
        Exception: whatever its code and torch.export say of tensors without values.
    """
    with without_values(), torch.no_grad():
        task, model, leaves, tree = _built(source)

        def called(given: Sequence[object]) -> object:
            args, kwargs = calltree.arguments(tree, given, vars(task))
            return model(*args, **kwargs)

        return export.graph(model, ([value for _, value in leaves], {}), specs, called if tree else None)[1]


def _built(source: str) -> tuple[types.ModuleType, torch.nn.Module, list[calltree.Leaf], "JsonValue"]:
    task = executed(source)
    model = module_of(task.Model, init_arguments(task))
    leaves, tree = calltree.flatten(task.get_inputs(), list(inspect.signature(model.forward).parameters))
    return task, model, leaves, tree
