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
    told = f"{whose} raised{_place(source, error.log)}: {_exception(error.log)}"
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


def _exception(log: str) -> str:
    """The exception with its message, without the frames above it."""
    lines = log.strip().splitlines()
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
