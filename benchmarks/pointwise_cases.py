"""Every pointwise operation of the built-in author as a task of its own, made from ATen's schemas.

An operation that the author learns is in here by itself: its tensors are the schema's, its numbers stand in `NUMBERS`.
What gives a truth value selects between its operands, since a task's result is a floating tensor.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from kernelwright.propose.author.read.pointwise import POINTWISE
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref, Value
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Domain, DType, TensorSpec

Shape = tuple[int, ...]
MADE = ("scalar_tensor.", "full", "zeros", "ones", "empty", "new_", "linspace", "eye")
"""They read nothing."""
NUMBERS: dict[str, tuple[dict[str, float | str], ...]] = {
    "pow.Tensor_Scalar": tuple({"exponent": e} for e in (2.0, 3.0, 0.5, -0.5, -1.0, 2.5)),
    "div.Tensor_mode": ({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}),
    "div.Scalar_mode": ({"rounding_mode": "floor"},),
    "clamp.default": ({"min": -0.5, "max": 0.5}, {"min": -0.5}, {"max": 0.5}),
    "clamp_min.default": ({"min": -0.5},),
    "clamp_max.default": ({"max": 0.5},),
    "gelu.default": ({}, {"approximate": "tanh"}),
    "masked_fill.Scalar": ({"value": 0.5},),
    "where.ScalarOther": ({"other": 0.5},),
    "where.ScalarSelf": ({"self": 0.5},),
    "where.Scalar": ({"self": 0.5, "other": 1.5},),
    "add.Tensor": ({}, {"alpha": 0.5}),
    "softplus.default": ({}, {"beta": 2.0}),
    "celu.default": ({"alpha": 0.7},),
    "addcmul.default": ({"value": 0.5},),
    "addcdiv.default": ({"value": 0.5},),
}
"""Numbers that the operation is tried with, where the schema's own or 0.75 will not do."""
POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal", "div", "pow", "addcdiv")
BOOLEAN = ("eq.", "ne.", "lt.", "le.", "gt.", "ge.", "logical_", "bitwise_", "__", "isnan")
WHOLE = re.compile(r"(bitwise|_)_.*(shift|Scalar)|(floor_divide|remainder)\.")
"""Of whole numbers alone."""
SMALL_DTYPES: tuple[DType, ...] = ("float16", "bfloat16")


@dataclass(frozen=True)
class Case:
    """One operation with its numbers, as a task and as a call of PyTorch."""

    name: str
    task: Task
    eager: Callable[..., torch.Tensor]
    positive: bool

    def inputs(self) -> list[torch.Tensor]:
        """Random tensors of its kinds."""
        return [self._input(spec) for spec in self.task.workload.tensors]

    def _input(self, spec: TensorSpec) -> torch.Tensor:
        if spec.dtype == "bool":
            return torch.rand(spec.shape) > 0.5
        drawn = torch.rand(spec.shape) + 0.01 if self.positive else torch.randn(spec.shape)
        return drawn.to(getattr(torch, spec.dtype))


def cases(shape: Shape) -> Iterator[Case]:
    """Each operation at one shape in float32, and a cheap one in the narrow types."""
    for op in POINTWISE:
        name = op.removeprefix("aten.")
        for numbers in () if name.startswith(MADE) or name == op or WHOLE.match(name) else NUMBERS.get(name, ({},)):
            yield _case(name, dict(numbers), shape, "float32")
    for dtype in SMALL_DTYPES:
        yield _case("relu.default", {}, shape, dtype)
        yield _case("gelu.default", {}, shape, dtype)


def _case(name: str, numbers: dict[str, float | str], shape: Shape, dtype: DType) -> Case:
    packet, overload = name.split(".")
    call = getattr(getattr(torch.ops.aten, packet), overload)
    specs, arguments = _arguments(name, call, numbers, shape, dtype)
    truth = name.startswith(BOOLEAN)
    made = (_spec("op", shape, "bool" if truth else dtype),)
    nodes = [OpNode(name="op", op=f"aten.{name}", arguments=tuple(arguments), result=made, bytes=0, flops=0)]
    if truth:
        specs += [_spec("yes", shape, dtype)]
        chosen = {"condition": Ref(ref="op"), "self": Ref(ref="yes"), "other": 0.5}
        given = tuple(Argument(name=k, value=v) for k, v in chosen.items())
        nodes += [OpNode(name="out", op="aten.where.ScalarOther", arguments=given, result=(), bytes=0, flops=0)]
    out = nodes[-1].name
    label = (
        name.replace(".", "_")
        + "".join(f"_{v}" for v in numbers.values())
        + ("" if dtype == "float32" else f"_{dtype}")
    )
    task = Task(
        source=TaskSource(name=label, format="kernelbench", source=""),
        target=Target(kind="cpu", arch="native", present=True),
        workload=Workload(inputs=tuple(specs), parameters=(), outputs=(_spec(out, shape, dtype),)),
        graph=OpGraph(inputs=tuple(s.name for s in specs), parameters=(), nodes=tuple(nodes), outputs=(out,)),
    )
    return Case(label, task, _eager(call, arguments, truth), name.startswith(POSITIVE))


def _arguments(
    name: str, call: torch._ops.OpOverload, numbers: dict[str, float | str], shape: Shape, dtype: DType
) -> tuple[list[TensorSpec], list[Argument]]:
    specs, arguments = [], []
    for formal in call._schema.arguments:
        value: Value
        if "Tensor" in str(formal.type):
            truth = formal.name in ("condition", "mask") or name.startswith(("bitwise_", "__"))
            size = () if name == "masked_fill.Tensor" and formal.name == "value" else shape
            specs.append(_spec(f"{formal.name}_in", size, "bool" if truth else dtype))
            value = Ref(ref=specs[-1].name)
        elif formal.name in numbers:
            value = numbers[formal.name]
        elif formal.has_default_value():
            value = formal.default_value
        else:
            value = 0.75
        arguments.append(Argument(name=formal.name, value=value))
    return specs, arguments


def _eager(call: torch._ops.OpOverload, arguments: list[Argument], truth: bool) -> Callable[..., torch.Tensor]:
    def run(*tensors: torch.Tensor) -> torch.Tensor:
        left = iter(tensors)
        named = {a.name: next(left) if isinstance(a.value, Ref) else a.value for a in arguments}
        found = call(**named)
        return torch.where(found, next(left), 0.5) if truth else found

    return run


def _spec(name: str, shape: Shape, dtype: DType) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype=dtype, domain=Domain.REAL)
