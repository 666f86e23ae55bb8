"""The assignment: a task in the words of whoever has to write kernels for it from outside.

Decides what is told of the task, the device and each language's contract. Refuses to know who reads it.
"""

from kernelwright.knowledge.hardware import Hardware, architectures, hardware
from kernelwright.propose.llm.describe_task import describe_host
from kernelwright.records.base import Record
from kernelwright.records.candidate import Language
from kernelwright.records.limits import Limits
from kernelwright.records.run import RunCard
from kernelwright.records.task import Task
from kernelwright.records.tensor import Scalar, TensorSpec

CONTRACTS: dict[Language, str] = {
    "cpp": (
        'One C++17 file that defines `extern "C" void kernel(...)`: pointers to the input tensors, then to parameters'
        " and buffers in state_dict order, then to the outputs. Dimensions are constants of the source, tensors are "
        "dense and row-major, pointers are aligned to their element only. Inputs are read-only, every element of "
        "every output must be written at every call. OpenMP is there; no other library is. Comment lines may declare: "
        "`// tunable NAME: 1 2 3`, a macro under #ifndef that is swept at no cost in trials; `// workspace: BYTES`, scratch "
        "memory behind a last pointer `void*`."
    ),
    "triton": (
        "One Python module that defines `class ModelNew(torch.nn.Module)` as a drop-in for the reference's `Model`, "
        "with the same arguments of `__init__` and `forward`. The work is done by `@triton.jit` kernels; host code "
        "only makes tensors with torch.empty and the like, looks at shapes, and launches. A comment line `# tunable NAME: "
        "1 2 3` declares a module-level integer that is swept at no cost in trials."
    ),
    "cuda": (
        "One .cu source with `__global__` kernels and no host code; a comment `/* kernelwright ... */` in TOML at its"
        " top is the launch plan: [[launch]] with kernel, grid, block, shared, arguments (in0, in1, ..., param0, ...,"
        " out0, work0, i64(n), f32(x)), and if need be [tunables], [constants], [[workspace]]. The referee launches "
        "them."
    ),
    "cuda_host": (
        'One .cu source with one host function `extern "C" void kernel(...)`: device pointers to inputs, parameters '
        "and outputs in that order, last a cudaStream_t, on which it launches its kernels without waiting."
    ),
    "python": (
        "One Python module that builds its own extension with torch.utils.cpp_extension.load_inline and defines "
        "`class ModelNew(torch.nn.Module)` as a drop-in for the reference's `Model`."
    ),
}
"""Each language's contract, in short; docs/candidate.md has all of it."""

RULES = (
    "A kernel is right if it agrees with an fp64 reference on secret inputs of several kinds (as given, scaled, "
    "negated, small integers, one huge element, ...), fresh at every look. Time counts only for right kernels, in"
    " paired blocks beside eager PyTorch and torch.compile. The kernel must do the work itself at every call: "
    "results that are kept, guessed from earlier inputs or left for later are found and refused. The largest sure"
    " speedup over eager wins; it is measured again with fresh inputs when the work is submitted, and only that "
    "figure counts."
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
    limits: Limits = Limits()
    """What its author allows; the referee holds all but the goal and the notes."""
    inputs: tuple[TensorSpec | Scalar, ...]
    parameters: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    compulsory_bytes: int
    """Bytes that any kernel must move in one call."""
    memory_gbps: float | None
    """10^9 bytes a second that the device was measured to read; None where it was not."""
    languages: tuple[Language, ...]
    """What may be written; the first is usual."""
    contracts: dict[Language, str]
    signature: str = ""
    """Of the C++ function, on a CPU."""
    hardware: Hardware | None = None
    rules: str = RULES


def assign(card: RunCard, folder: str, trials: int, language: Language | None) -> Assignment:
    """The assignment of a run."""
    task, device = card.task, card.environment.device
    offered = languages(task, language)
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
        inputs=task.workload.inputs,
        parameters=task.workload.parameters,
        outputs=task.workload.outputs,
        compulsory_bytes=task.workload.compulsory_bytes,
        memory_gbps=device.memory_gbps,
        languages=offered,
        contracts={name: CONTRACTS[name] for name in offered},
        signature=describe_host(task, "cpp").signature if "cpp" in offered else "",
        hardware=hardware(task.target.arch) if task.target.arch in architectures() else None,
    )


def languages(task: Task, language: Language | None = None) -> tuple[Language, ...]:
    """What candidates for a task may be written in."""
    if language is not None:
        return (language,)
    return ("cpp",) if task.target.kind == "cpu" else ("triton", "cuda", "cuda_host", "python")
