"""What went wrong with a reference, in words that name the place in its author's file, the cause and the cure."""

import re
from pathlib import Path

from kernelwright.errors import TaskError
from kernelwright.evaluate.sandbox.candidate_process import ChildRaisedError
from kernelwright.evaluate.sandbox.child import ChildGoneError
from kernelwright.records.policy import Policy
from kernelwright.records.task import TaskSource

_FRAME = re.compile(r'^  File "<task>", line (\d+)', re.MULTILINE)
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_ALLOCATION = re.compile(r"can't allocate memory|MemoryError|std::bad_alloc|Cannot allocate memory")
_NO_ARGUMENTS = re.compile(r"^TypeError: Model\.__init__\(\) missing \d+ required ", re.MULTILINE)
_LAST_LINES = 6
_SHAPES = {"ShapeOfValuesError", "DynamicOutputShapeException", "PendingUnbackedSymbolNotFound"}
_GUARDS = {"GuardOnDataDependentSymNode", "DataDependentOutputException"}
_OF_VALUES = re.compile(r"data[- ]dependent|dynamic (?:control flow|shape)", re.IGNORECASE)
_UNTRACED = {
    *_SHAPES, *_GUARDS, "UserError", "Unsupported", "UncapturedHigherOrderOpError", "UnsupportedOperatorException",
    "UnsupportedFakeTensorException", "UnsupportedMutationAliasingException", "ConstraintViolationError",
}  # fmt: skip
"""What only a tracer raises: the reference itself has run."""
_ADVICE = re.compile(
    r"TORCH_LOGS|TORCHDYNAMO_|torch\.export\.draft_export|draft_export\(\)|For more debugging help|For more details about this"
    r"|guard_or_false|^User Stack|^\s+\(snipped, see stack|^The following call raised this error|^  File \""
)
"""Lines in which PyTorch says how its own developers would look further."""


def raised(source: TaskSource, error: ChildRaisedError, policy: Policy) -> TaskError:
    """The reference raised an exception."""
    whose = f"the reference of {source.name!r}"
    missing = _MISSING.search(error.log)
    if missing is not None:
        package = missing[1].partition(".")[0]
        return TaskError(
            f"{whose} imports {missing[1]!r}, which is not installed for this Python: pip install {package}, or leave "
            "the import out",
            "raises",
        )
    if error.name in _UNTRACED:
        return TaskError(_untraced(source, error), "raises")
    told = f"{whose} raised{_place(source, error.log)}: {_exception(error)}"
    cure = f" {_memory_words(policy)}" if _ALLOCATION.search(error.log) else ""
    if _NO_ARGUMENTS.search(error.log):
        cure = ". Return them, in a list, from a function get_init_inputs() in the task's file"
    return TaskError(f"{told}{cure}", "raises")


def gone(source: TaskSource, error: ChildGoneError, policy: Policy) -> TaskError:
    """The reference's process ended by itself, or was ended by the system."""
    whose, log = f"the reference of {source.name!r}", "\n".join(error.log.strip().splitlines()[-_LAST_LINES:])
    if "SIGKILL" in error.reason:
        return TaskError(
            f"{whose} ended ({error.reason}), as processes do where memory runs out. {_memory_words(policy)}", "dies"
        )
    return TaskError(
        f"{whose} ended ({error.reason}). A reference may not write to its inputs, which are read-only. {log}".rstrip(),
        "dies",
    )


def _place(source: TaskSource, log: str) -> str:
    """Such as ` in line 7 (return x @ y)`: the innermost line of the author's own file."""
    frames = _FRAME.findall(log)
    lines = source.source.splitlines()
    if not frames or not 0 < int(frames[-1]) <= len(lines):
        return ""
    return f" in line {frames[-1]} ({lines[int(frames[-1]) - 1].strip()[:120]})"


def _untraced(source: TaskSource, error: ChildRaisedError) -> str:
    """The reference ran, and torch.export could not follow it."""
    told, place = f"torch.export cannot trace {source.name!r}", _place(source, error.log)
    where = f",{place}" if place else ""
    if error.name in _SHAPES:
        what = "the shape of a tensor depends on values"
    elif error.name in _GUARDS or _OF_VALUES.search(error.log):
        what = "its control flow or a number in Python depends on values"
    else:
        return f"{told}{where}: {_exception(error)}"
    return f"{told}: {what}{where}. Use torch.where, a mask or a fixed size"


def _exception(error: ChildRaisedError) -> str:
    """The exception with its message, without the frames above it and PyTorch's advice below it."""
    lines = [line for line in error.log.strip().splitlines() if not _ADVICE.search(line)]
    named = re.compile(rf"(?:\w+\.)*{re.escape(error.name)}(?::|$)")
    if starts := [i for i, line in enumerate(lines) if named.match(line)]:
        return "\n".join([line for line in lines[starts[-1] :] if line.strip()][:_LAST_LINES])
    first = max((i for i, line in enumerate(lines) if line.startswith(" ")), default=-1)
    return "\n".join((lines[first + 1 :] or lines)[-_LAST_LINES:])


def _memory_words(policy: Policy) -> str:
    allowed = f"{policy.memory_bytes / 2**30:.0f} GiB"
    return (
        f"It may take {allowed} (memory_bytes under [policy] in the file that --config names), and this machine has "
        f"{_machine()}. The referee holds the inputs several times over, and fp64 results: make the inputs smaller"
    )


def _machine() -> str:
    """Memory of this machine, as far as it says so."""
    try:
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE))
        total, free = (int(found[name]) / 2**20 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError):
        return "too little left"
    return f"{total:.1f} GiB, of which {free:.1f} are free now"
