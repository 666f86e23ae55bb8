"""The table of task formats, by file ending. To add one: write `tasks/<format>.py` and add its line here."""

from collections.abc import Callable
from pathlib import Path

from kernelwright.errors import TaskError
from kernelwright.records.task import TaskSource
from kernelwright.tasks.kernelbench import read_kernelbench

READERS: dict[str, Callable[[Path], TaskSource]] = {
    ".py": read_kernelbench,
}


def read_task(path: Path) -> TaskSource:
    """The task in a file, not yet run.

    Raises:
        TaskError: no reader knows the ending, or the reader cannot make a task of the file.
    """
    reader = READERS.get(path.suffix)
    if reader is None and path.exists():
        raise TaskError(f"task {str(path)!r}: the ending must be one of {', '.join(READERS)}")
    return (reader or read_kernelbench)(path)
