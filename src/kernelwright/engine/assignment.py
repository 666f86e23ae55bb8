"""The assignment: a task in words, for an external program that writes kernels for it.

A language's contract and signature are those of the prompts.
"""

from kernelwright.knowledge.library import rules
from kernelwright.languages import language, names_for
from kernelwright.propose.llm.hardware import describe_hardware
from kernelwright.propose.llm.sections import OF_SEVERAL, describe_host, held_against
from kernelwright.records.base import Record
from kernelwright.records.names import LanguageName
from kernelwright.records.run import RunCard
from kernelwright.records.task import TaskLimits
from kernelwright.records.tensor import Scalar, TensorSpec

COUNTS = (
    "Time counts only for right kernels, in paired blocks beside eager PyTorch and torch.compile. The largest sure speedup "
    "over eager wins; it is measured again with fresh inputs when the work is submitted, and only that figure counts."
)


class Assignment(Record):
    """What is to be written, for what, and how it is judged."""

    task: str
    target: str
    device: str
    run: str
    """The run's folder: journal, report, receipt and kernel go there."""
    trials: int
    """Kernels that may be checked, all together."""
    reference: str
    """The task's source."""
    description: str = ""
    """What is wanted, in its author's words."""
    host: str = ""
    """The code around the kernel, as it will be called."""
    limits: TaskLimits = TaskLimits()
    """What its author allows; the referee holds all but the goal and the notes."""
    workloads: str = ""
    """Axes and workloads in lines, where there are several: one kernel must be right on all of them and at other sizes. The
    shapes below are the main one's."""
    inputs: tuple[TensorSpec | Scalar, ...]
    parameters: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    compulsory_bytes: int
    """Bytes that any kernel must move in one call."""
    memory_gbps: float | None
    """10^9 bytes a second that the device was measured to read; None where it was not."""
    languages: tuple[LanguageName, ...]
    """What may be written; the first is usual."""
    contracts: dict[LanguageName, str]
    """Of each language, in short, with an example."""
    signature: str = ""
    """Of the function that is called, or the buffers of a launch plan, in the usual language."""
    hardware: str
    """The device in words, as prompts have it: published and measured figures."""
    held_against: tuple[str, ...] = ()
    """Times of eager and torch.compile, the floor and the tolerance; nothing of what was not measured."""
    rules: str


def assign(card: RunCard, folder: str, trials: int, written: LanguageName | None) -> Assignment:
    """The assignment of a run."""
    task, device = card.task, card.environment.device
    offered = (written,) if written else names_for(task.target.kind)
    return Assignment(
        task=task.name,
        target=task.target.name,
        device=device.name,
        run=folder,
        trials=trials,
        reference=task.source.source,
        description=task.source.description,
        host=task.source.host,
        limits=task.source.limits,
        workloads=f"{OF_SEVERAL}\n{task.source.workloads.words}" if task.source.workloads else "",
        inputs=task.workload.inputs,
        parameters=task.workload.parameters,
        outputs=task.workload.outputs,
        compulsory_bytes=task.workload.compulsory_bytes,
        memory_gbps=device.memory_gbps,
        languages=offered,
        contracts={name: language(name).contract for name in offered},
        signature=describe_host(task, offered[0]).signature,
        hardware=describe_hardware(task, card.environment).facts,
        held_against=tuple(held_against(card.yardstick)) if card.yardstick else (),
        rules=f"{rules()}\n\n{COUNTS}",
    )
