"""The table of task formats, by file ending. To add one: write `tasks/<format>.py` and add its line here."""

from collections.abc import Callable
from pathlib import Path

from kernelwright.errors import TaskError
from kernelwright.records.task import TaskSource
from kernelwright.tasks.definition import read_definition
from kernelwright.tasks.files import split_size
from kernelwright.tasks.kernelbench import read_kernelbench
from kernelwright.tasks.serial import SUFFIXES, read_serial
from kernelwright.tasks.text_task import read_text_task

READERS: dict[str, Callable[[Path], TaskSource]] = {
    ".py": read_kernelbench,
    ".toml": read_text_task,
    ".md": read_text_task,
    ".json": read_definition,
    **dict.fromkeys(SUFFIXES, read_serial),
}


def read_task(path: Path) -> TaskSource:
    """The task in a file, not yet run; `FILE@SIZE` is the file at one of the sizes that it lists.

    Raises:
        TaskError: no reader knows the ending, or the reader cannot make a task of the file.
    """
    file = split_size(path).file
    if file.is_dir():
        raise TaskError(
            f"task {str(path)!r} is a folder: name one task file in it. `kernelwright bench {file}` compares strategies "
            f"on all its tasks, and `kernelwright admit {file}` says which of them can be judged"
        )
    reader = READERS.get(file.suffix)
    if reader is None and file.exists():
        raise TaskError(f"task {str(path)!r}: the ending must be one of {', '.join(READERS)}")
    return (reader or read_kernelbench)(path)
