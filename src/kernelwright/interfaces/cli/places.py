"""Where `-o` writes: the drop-in and its receipt. Neither takes the place of the task."""

from pathlib import Path

from kernelwright.errors import TaskError, UsageError


def receipt_beside(output: Path) -> Path:
    """The receipt that is written with a drop-in."""
    return output.with_suffix(".receipt.json")


def must_spare(task: Path, output: Path) -> None:
    """Ask before the search that `-o` would not write over the task.

    Raises:
        UsageError: it would.
    """
    from kernelwright import api

    file = api.task_file(task)
    for place in (output, receipt_beside(output)):
        if file.exists() and place.exists() and file.samefile(place):
            raise _is_the_task(output, place)


def must_spare_task_of(run: Path, output: Path) -> None:
    """The same for a stored run, which knows its task's text and not where it lay.

    Raises:
        UsageError: it would write over a file with that text.
        StoreError: there is no such run.
    """
    from kernelwright import api

    source = api.source_of(run)
    for place in (output, receipt_beside(output)):
        if place.is_file() and _origin(api.at_size_of(place, source.name)) == source.origin:
            raise _is_the_task(output, place)


def _origin(file: Path) -> str | None:
    """A task file's own code; None of a file that holds no task."""
    from kernelwright import api

    try:
        return api.read_task(file).origin
    except TaskError:
        return None


def _is_the_task(output: Path, place: Path) -> UsageError:
    what = "" if place == output else f"its receipt would be {place}, and "
    return UsageError(f"-o {output}: {what}that is the task itself, which would be lost: name another file")
