"""The task in words: its name, its author's words, the tensors it runs on, how its kernel is called.

It covers what does not change during a run. All of it is data of the task: a prompt shows it in blocks.
"""

from kernelwright.devices import kinds
from kernelwright.knowledge.hardware import Hardware, architectures, hardware
from kernelwright.languages import Language, language
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.comparator import Calibrated, Comparator, Exact, Statistical
from kernelwright.records.evaluation import Measured
from kernelwright.records.limits import TaskLimits
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

EDGE_GBPS = 400.0
"""Devices with less memory bandwidth than this are told to be small ones."""


class TaskWords(Record):
    """What the author of a task says, beside the reference."""

    name: str
    description: str = ""
    """The task in a sentence or more; empty: only the reference says it."""
    workload: str
    """Tensors, comparators and the least work, a line each."""


class HostWords(Record):
    """How the kernel is called."""

    calling: str
    signature: str = ""
    code: str = ""


class HardwareWords(Record):
    """What is known of the device."""

    facts: str
    limits: str = ""


def describe_task(task: Task) -> TaskWords:
    """The task's own words."""
    return TaskWords(name=task.name, description=task.source.description, workload=_workload(task))


def _limits(limits: TaskLimits) -> list[str]:
    """The author's limits, a line each; `library_calls` and the like under their own names."""
    named = limits.model_dump(mode="json", exclude={"notes"}, exclude_defaults=True)
    return [*(f"{name.replace('_', ' ')}: {value}" for name, value in named.items()), *limits.notes]


def describe_host(task: Task, name: LanguageName) -> HostWords:
    """How the referee calls a kernel of this language for this task."""
    written = language(name)
    signature = {"module": _nothing, "plan": _buffers, "function": _signature}[written.form](task, written)
    return HostWords(calling=written.calling, signature=signature, code=task.source.host)


def describe_hardware(task: Task, parents: tuple[Attempt, ...]) -> HardwareWords:
    """Facts of the target; on cpu what earlier measurements told of it."""
    limits = "\n".join(_limits(task.source.limits))
    if not kinds()[task.target.kind].gpu:
        return HardwareWords(facts="\n".join(_cpu(parents)), limits=limits)
    if task.target.arch in architectures():
        return HardwareWords(facts="\n".join(_published(hardware(task.target.arch))), limits=limits)
    return HardwareWords(facts=f"architecture: {task.target.arch}; nothing more is known of it", limits=limits)


def _workload(task: Task) -> str:
    load = task.workload
    lines = [f"input  {_argument(i)}" for i in load.inputs]
    lines += [f"param  {_tensor(p)}" for p in load.parameters]
    for position, output in enumerate(load.outputs):
        lines.append(f"output {_tensor(output)}; {_comparator(task.comparator(position))}")
    lines.append(f"compulsory traffic: {load.compulsory_bytes} bytes; arithmetic: {task.graph.flops} operations")
    return "\n".join(lines)


def _argument(value: TensorSpec | Scalar) -> str:
    return _tensor(value) if isinstance(value, TensorSpec) else f"{value.name} = {value.value!r} (a constant)"


def _tensor(spec: TensorSpec) -> str:
    domain = "" if spec.domain is Domain.REAL else f", values: {spec.domain.value}"
    bound = "" if spec.bound is None else f" below {spec.bound}"
    return f"{spec.name}: {spec.dtype}[{', '.join(map(str, spec.shape))}]{domain}{bound}"


def _comparator(comparator: Comparator) -> str:
    match comparator:
        case Calibrated(k=k):
            return f"error against fp64 at most {k:g} times the reference's own"
        case Exact():
            return "the very bits of the reference"
        case Statistical():
            return "random on purpose: the distribution is compared"
    return "several answers are right, such as the order of ties"


def _nothing(_task: Task, _written: Language) -> str:
    return ""


def _signature(task: Task, written: Language) -> str:
    load, types = task.workload, written.types
    rows = [(f"const {types[t.dtype]}* in{i}", t) for i, t in enumerate(load.tensors)]
    rows += [(f"const {types[t.dtype]}* param{i}", t) for i, t in enumerate(load.parameters)]
    rows += [(f"{types[t.dtype]}* out{i}", t) for i, t in enumerate(load.outputs)]
    lines = [f"    {text},  // {_tensor(spec)}" for text, spec in rows]
    lines += [f"    {written.last_argument},"] if written.last_argument else []
    lines[-1] = lines[-1].replace(",", ");", 1)
    return "\n".join([f"{written.linkage} void kernel(".strip(), *lines])


def _buffers(task: Task, written: Language) -> str:
    load, types = task.workload, written.types
    named = (("in", load.tensors), ("param", load.parameters), ("out", load.outputs))
    rows = [f"{types[t.dtype]}* {kind}{i}  // {_tensor(t)}" for kind, group in named for i, t in enumerate(group)]
    return "\n".join(rows)


def _cpu(parents: tuple[Attempt, ...]) -> list[str]:
    lines = [
        "CPU, this machine's own; compiled with -O3 -march=native -fopenmp; all cores are the kernel's while it is timed"
    ]
    measured = [p.evaluation for p in parents if isinstance(p.evaluation, Measured)]
    if measured:
        lines.append(f"measured read bandwidth: {measured[0].roofline.ceiling_gbps:.1f} GB/s")
        lines.append(f"least possible time of one call: {measured[0].roofline.floor_us:.2f} us")
    return lines


def _published(facts: Hardware) -> list[str]:
    size = "edge" if facts.bandwidth_gbps < EDGE_GBPS else "workstation or server"
    peaks = {"fp32": facts.fp32_tflops, "tf32": facts.tf32_tflops, "bf16": facts.bf16_tflops}
    told = ", ".join(f"{name} {value:g}" for name, value in peaks.items() if value is not None)
    words = kinds()[facts.kind].words
    return [
        f"architecture: {facts.arch}, such as {facts.device} ({size}); published figures",
        f"multiprocessors: {facts.multiprocessors}",
        f"resident on one multiprocessor: at most {facts.warps} warps, {facts.blocks} blocks",
        f"registers of one multiprocessor: {facts.registers}, at most {facts.registers_thread} for a thread",
        f"shared memory: {facts.shared_bytes} bytes a multiprocessor, at most {facts.shared_bytes_block} for a block",
        f"memory bandwidth: {facts.bandwidth_gbps:g} GB/s; last-level cache: {facts.cache_bytes} bytes",
        f"peak, 10^12 operations a second: {told}",
        *([words] if words else []),
    ]
