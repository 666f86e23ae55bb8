"""How `optimize` and `resume` end: JSON or a few lines, the kernel's file, the exit code."""

from pathlib import Path

import typer
from rich.markup import escape
from rich.style import Style
from rich.text import Text

from kernelwright.api import OptimizeResult, RunSummary, write_whole
from kernelwright.errors import ProposeError, StoreError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT
from kernelwright.interfaces.cli.places import receipt_beside
from kernelwright.interfaces.cli.words import plain


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
    if not result.summary.complete and not isinstance(result.error, ProposeError):
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
    if result.summary.pytorch_stays:
        return "PyTorch stays (--keep-slower writes it all the same)"
    return "the kernel can be no drop-in" if result.source is not None else "nothing right was found"


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
        OUTPUT.print(file_line("kernel", written))
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
