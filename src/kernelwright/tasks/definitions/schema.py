"""Definitions and workloads in JSON, as FlashInfer-Bench and SOL-ExecBench have them: their fields (docs/formats.md)."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from kernelwright.records.expression import in_order, worth

DTYPES = {
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
}  # fmt: skip


class _Json(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Axis(_Json):
    """A size: a constant (`const`), one that each workload gives (`var`), or one that follows from others (`expr`)."""

    type: str
    value: int | None = None
    expression: str = ""


class TensorText(_Json):
    """An input or output; a shape of None is a number's."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    shape: tuple[str, ...] | None
    dtype: str


class WorkloadInput(_Json):
    """How one input comes to be."""

    model_config = ConfigDict(extra="allow")

    type: str
    value: JsonValue = None
    path: str = ""
    tensor_key: str = ""


class Workload(_Json):
    """The sizes that vary, and where inputs come from; what else it says, such as a tolerance, is kept as it is."""

    model_config = ConfigDict(extra="allow")

    uuid: str = ""
    axes: dict[str, int] = {}
    inputs: dict[str, WorkloadInput] = {}


class Definition(_Json):
    """What is to be computed; `reference` defines `run`."""

    name: Annotated[str, Field(min_length=1)]
    axes: dict[str, Axis]
    inputs: dict[str, TensorText]
    outputs: dict[str, TensorText]
    reference: str
    custom_inputs_entrypoint: str | None = None
    constraints: tuple[str, ...] | None = None
    workloads: tuple[Workload, ...] = ()
    """Of neither format: where no file of lines lies beside it."""


def expressions(axes: Mapping[str, Axis]) -> dict[str, str]:
    """Axes that follow from others, each after those that it names.

    Raises:
        ValueError: one follows from itself.
    """
    return in_order({name: axis.expression for name, axis in axes.items() if axis.type == "expr"})


def sizes(definition: Definition, workload: Workload) -> dict[str, int]:
    """Every axis at a workload.

    Raises:
        ValueError: an expression has no value there.
    """
    found = {name: axis.value for name, axis in definition.axes.items() if axis.value is not None} | workload.axes
    for name, expression in expressions(definition.axes).items():
        found[name] = worth(expression, found)
    return found
