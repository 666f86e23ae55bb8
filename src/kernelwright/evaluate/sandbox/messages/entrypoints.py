"""Who serves a child of each kind, who takes which command, and how a child is born and ends."""

from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages import calls, candidates, tasks, tools
from kernelwright.evaluate.sandbox.messages.base import Command, Question, refused
from kernelwright.records.base import Record

AnyCommand = Command[Any]
REFERENCE = (tasks.LoadTask, calls.ExportGraph, tasks.Widen, calls.TakeParameters, calls.Prepare)
ENTRYPOINTS: dict[str, tuple[type[AnyCommand], ...]] = {
    "reference": (
        *REFERENCE,
        calls.ReduceTask,
        calls.Draw,
        calls.DescribeState,
        calls.MapArena,
        calls.Run,
        calls.RunInTurn,
    ),
    "reference_cuda": (
        *REFERENCE,
        tasks.EstimateTask,
        calls.DrawInto,
        calls.PutState,
        calls.MapDeviceArena,
        calls.RunOnDevice,
        calls.TimeCopying,
        calls.Export,
        calls.Release,
    ),
    "cpp": (candidates.LoadLibrary, candidates.RunPlaced, calls.RunInTurn, calls.DescribeInputs),
    "module": (
        candidates.LoadModule,
        calls.TakeParameters,
        candidates.TellParameters,
        candidates.Clear,
        calls.Run,
        calls.RunInTurn,
        calls.DescribeInputs,
        candidates.TellLibraryShare,
        calls.TellPrecision,
    ),
    "interpreted": (candidates.LoadInterpreted, candidates.Examine, calls.Run),
    "cuda": (
        calls.Open,
        candidates.LoadModel,
        calls.TakeParameters,
        calls.RunOnDevice,
        calls.CaptureGraph,
        calls.HoldCalls,
        calls.Replay,
        calls.Overwrite,
        calls.Export,
        calls.DescribeInputs,
        calls.TellPrecision,
        candidates.TellLibraryShare,
    ),
    "launcher": (
        calls.Open,
        candidates.LoadProgram,
        candidates.ChoosePlan,
        candidates.LaunchPlans,
        calls.DescribeInputs,
    ),
    "cross": (tools.BuildCross, tools.Capture),
    "extension": (tools.BuildExtension,),
    "lowering": (tools.Lower,),
    "nvrtc": (tools.CompileCuda,),
    "tool": (tools.Execute,),
    "profiled": (tools.PrepareProfile, tools.Trace, tools.CountUnder, tools.MeasureRates),
}
"""What a child of each kind is asked; anything else is refused before it is sent."""


_ROOM = "kernelwright.evaluate.entrypoints"
MODULES = {
    "reference": f"{_ROOM}.reference.cpu",
    "cpp": f"{_ROOM}.candidate.cpp",
    "module": f"{_ROOM}.candidate.module",
    "cross": f"{_ROOM}.tools.cross",
    "interpreted": f"{_ROOM}.candidate.interpreted",
    "launcher": f"{_ROOM}.candidate.launcher",
    "cuda": f"{_ROOM}.candidate.cuda",
    "reference_cuda": f"{_ROOM}.reference.cuda",
    "tool": f"{_ROOM}.tools.tool",
    "profiled": f"{_ROOM}.tools.profiled",
    "nvrtc": f"{_ROOM}.tools.nvrtc",
    "extension": f"{_ROOM}.tools.extension",
    "lowering": f"{_ROOM}.tools.lowering",
}
"""Which module serves a child of each kind; it has `serve(control)`."""


class Warmed(Record):
    """The warm parent has imported everything."""

    pid: int


class Birth(Record):
    """To the warm parent: fork a child; files: its control socket, its log, its keeper's socket."""

    side: str
    jail: Jail


class Born(Record):
    """From the keeper: the child's process and group, which is its own."""

    pid: int
    group: int
    alone: bool
    """Whether the child has a process namespace, which ends with it."""


class Confined(Record):
    """From the child, before any untrusted code: the parts of its jail that the host denied."""

    denied: tuple[str, ...]


class Status(Record):
    """From the keeper: the kernel's wait status, at each stop and at the end."""

    code: int


_taken = reduce(or_, dict.fromkeys(kind for kinds in ENTRYPOINTS.values() for kind in kinds))
_QUESTION: TypeAdapter[Question[AnyCommand]] = TypeAdapter(Question[Annotated[_taken, Field(discriminator="kind")]])  # type: ignore[valid-type]


def read_question(data: bytes, files: list[int]) -> Question[AnyCommand]:
    """The question of a packet, its command with these files.

    Raises:
        MalformedError: it is none.
    """
    try:
        question = _QUESTION.validate_json(data)
    except ValidationError as error:
        raise refused(error, "question") from None
    if not files:
        return question
    command = question.command.model_copy(update={"files": tuple(files)})
    return question.model_copy(update={"command": command})
