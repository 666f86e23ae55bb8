"""What a reference is asked about its task as a whole: what it is, how large, and beyond which inputs it is defined."""

from typing import Literal

from pydantic import JsonValue

from kernelwright.evaluate.sandbox.messages.base import Command, Figure, Many, Reply, Text, Whole
from kernelwright.evaluate.sandbox.messages.calls import Told
from kernelwright.records.numerics import NumericsMode
from kernelwright.records.tensor import Scalar, TensorSpec


class TaskLoaded(Reply):
    """The task as data, without its graph."""

    inputs: Many[TensorSpec | Scalar]
    parameters: Many[TensorSpec]
    outputs: Many[TensorSpec]
    tree: JsonValue
    """How the inputs are put together, as `Workload.tree`."""
    result: JsonValue = None
    """How the results are, as `Workload.result`."""
    changes: Many[Text]
    """Inputs and parameters that forward writes to."""
    state: Many[Text]
    """Those of them whose new values are the last outputs."""
    constants: Many[Text] = ()
    """Parameters that no state_dict has."""
    grown: bool
    """Forward adds parameters or buffers, or takes some away."""
    random: Many[bool]
    """Of each output: whether two calls on the same inputs differ by more than an order of adding up."""
    spread: Many[Figure]
    """Of each output: how far two calls are apart, relative, where it is no more than that."""
    broken: Text
    """The first result that is NaN, and where; empty where none is."""
    infinite: Many[Whole] = ()
    """Results that are infinite somewhere, which may be right."""
    scratch_bytes: Whole = 0
    """Device memory that a call takes beside inputs, parameters and results."""
    rows_apart: bool = False
    """Each row of the results depends on that row of the inputs alone."""
    init: Text | None
    """The constructor's arguments as Python text; None where they have no literal."""
    flags: Told
    """As the task's own code left them."""
    tied: Many[tuple[Text, Text]] = ()
    """Parameters that are others under a second name, with the first."""


class LoadTask(Command[TaskLoaded]):
    """Run the task's file, build the model and describe it."""

    kind: Literal["load_task"] = "load_task"
    source: str
    threads: int
    numerics: NumericsMode = "as-is"
    state: Literal["compare", "ignore"] = "compare"
    """Whether what forward writes to is an output."""
    most_bytes: Whole | None = None
    """Of inputs, parameters and results together: of a larger task, values are seen at a smaller size alone."""


class Estimated(Reply):
    """Bytes of inputs, parameters and results of one call; zero where they cannot be told without drawing."""

    nbytes: Whole


class EstimateTask(Command[Estimated]):
    """Tell how large a task is, without taking memory for it."""

    kind: Literal["estimate_task"] = "estimate_task"
    source: str


class Widened(Reply):
    """Inputs and parameters, by their places, that came without signs and on which the reference is defined with them."""

    inputs: Many[Whole]
    parameters: Many[Whole]


class Widen(Command[Widened]):
    """Try the reference beyond what its inputs were drawn from and its parameters are; to be asked when the graph is there."""

    kind: Literal["widen"] = "widen"
    inputs: tuple[int, ...]
    """Which inputs to try."""
    parameters: tuple[int, ...] = ()
    """Which parameters to try."""
