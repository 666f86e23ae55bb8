"""How `optimize` and `resume` end: JSON or a few lines, the kernel's file, the exit code; and where `-o` may write.

Neither the drop-in nor its receipt takes the place of the task.
"""

from pathlib import Path

import typer
from rich.markup import escape
from rich.style import Style
from rich.text import Text

from kernelwright.api import OptimizeResult, RunSummary, at_size_of, read_task, source_of, task_file, write_whole
from kernelwright.errors import ProposeError, StoreError, TaskError, UsageError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT
from kernelwright.interfaces.cli.words import plain
from kernelwright.records.answer import BRIEF


def end(result: OptimizeResult, *, json: bool, output: Path | None) -> None:
    """Show the result and leave with its exit code.

    Raises:
        StoreError: `output` cannot be written.
    """
    if output is not None:
        _copy(result, output)
        if result.kernel is not None or result.source is not None:
            _write(result.receipt, receipt_beside(output))
    if json:
        print(_json(result))
    else:
        _show(result, output)
    if result.error is not None:
        ERRORS.print(f"[bold red]error:[/] {escape(plain(str(result.error)))}")
    # What a proposer cannot write now, it cannot write in a resumed run either.
    if result.summary.goes_on and not isinstance(result.error, ProposeError):
        ERRORS.print(f"continue with: kernelwright resume {escape(result.summary.folder)}")
    raise typer.Exit(result.exit_code)


def _copy(result: OptimizeResult, output: Path) -> None:
    if result.source is not None and result.source.suffix == output.suffix:
        _write(result.source, output)
    elif result.kernel is None:
        ERRORS.print(f"[yellow]{_why_not(result)}:[/] {escape(str(output))} is not written")
    else:
        _write(result.kernel, output)


def _why_not(result: OptimizeResult) -> str:
    if result.source is not None:
        return "the kernel can be no drop-in"
    cure = " (--keep-slower writes it all the same)" if result.summary.pytorch_stays else ""
    return f"{result.summary.said}{cure}"


def _write(file: Path | None, output: Path) -> None:
    if file is None:
        return
    try:
        write_whole(output, file.read_text(encoding="utf-8"))
    except StoreError as error:
        raise StoreError(f"-o: {error}, or choose another file; it is in {file}") from None


def _json(result: OptimizeResult) -> str:
    files = {
        "report": result.report,
        "kernel_file": result.kernel,
        "source_file": result.source,
        "receipt": result.receipt,
        "error": result.error,
    }
    beside = {name: None if value is None else str(value) for name, value in files.items()}
    return RunResult.model_validate({**result.summary.model_dump(), **beside}).model_dump_json(indent=2)


class RunResult(RunSummary):
    """The final JSON of `optimize` and `resume`."""

    report: str | None
    """Path of the HTML page."""
    kernel_file: str | None
    """The best kernel as a drop-in `ModelNew` module."""
    source_file: str | None
    """The best kernel as it was judged, where it can be no drop-in."""
    receipt: str | None
    """The receipt of its verdict."""
    error: str | None


def _show(result: OptimizeResult, output: Path | None) -> None:
    OUTPUT.print(result.shown)
    found = result.kernel or result.source
    if found is not None:
        written = output if output is not None and (result.kernel or output.suffix == found.suffix) else found
        untimed = f" ({BRIEF[result.summary.answer]})" if result.summary.answer in BRIEF else ""
        OUTPUT.print(Text.assemble(file_line("kernel", written), untimed))
    if found is not None and result.receipt is not None:
        OUTPUT.print(file_line("receipt", receipt_beside(output) if output else result.receipt))
    OUTPUT.print(file_line("report", result.report))


def file_line(what: str, path: Path) -> Text:
    """A line with a path, which is a link on a terminal that knows links."""
    return Text.assemble(f"{what} ", linked(path), no_wrap=True, overflow="ignore")


def linked(path: Path) -> Text:
    """A path that is a link on a terminal that knows links."""
    link = Style(link=path.absolute().as_uri())
    return Text(plain(str(path)), style=link, no_wrap=True, overflow="ignore")


def receipt_beside(output: Path) -> Path:
    """The receipt that is written with a drop-in."""
    return output.with_suffix(".receipt.json")


def must_spare(task: Path, output: Path) -> None:
    """Ask before the search that `-o` would not write over the task.

    Raises:
        UsageError: it would.
    """
    file = task_file(task)
    for place in (output, receipt_beside(output)):
        if file.exists() and place.exists() and file.samefile(place):
            raise _is_the_task(output, place)


def must_spare_task_of(run: Path, output: Path) -> None:
    """The same for a stored run, which knows its task's text and not where it lay.

    Raises:
        UsageError: it would write over a file with that text.
        StoreError: there is no such run.
    """
    source = source_of(run)
    for place in (output, receipt_beside(output)):
        if place.is_file() and _origin(at_size_of(place, source.name)) == source.origin:
            raise _is_the_task(output, place)


def _origin(file: Path) -> str | None:
    """A task file's own code; None of a file that holds no task."""
    try:
        return read_task(file).origin
    except TaskError:
        return None


def _is_the_task(output: Path, place: Path) -> UsageError:
    what = "" if place == output else f"its receipt would be {place}, and "
    return UsageError(f"-o {output}: {what}that is the task itself, which would be lost: name another file")
