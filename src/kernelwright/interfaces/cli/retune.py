"""`kernelwright retune FILE`: what serves which sizes of a drop-in, measured again on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import OUTPUT, plain_table, print_result
from kernelwright.interfaces.cli.options import Json

if TYPE_CHECKING:
    from kernelwright import api


def retune(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A drop-in, as of optimize -o FILE.", show_default=False)
    ],
    seconds: Annotated[float, typer.Option(min=1, help="Begin no further size after so long.")] = 50.0,
    at: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=N,N", help="Measure at these sizes instead; once for each axis.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure again on this machine which sizes a drop-in's kernel serves.

    The choice is kept for this device, driver, torch and Triton, and holds from the next start of Python on.
    """
    from kernelwright import api

    print_result(api.retune(file, seconds, dict(map(_axis, at or ()))), json, _show)


def _axis(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    if not name or not sizes or not all(size.strip().isdecimal() for size in sizes.split(",")):
        raise UsageError(f"--at {text!r} is no axis with sizes: write it as --at batch=1,16,64")
    return name.strip(), [int(size) for size in sizes.split(",")]


def _show(found: "api.Retuning") -> None:
    ways = list(dict.fromkeys(way for row in found.rows for way in row.us))
    table = plain_table("sizes", *(f"{way}, us" for way in ways), "serves")
    for row in found.rows:
        sizes = ", ".join(f"{name}={size}" for name, size in row.axes.items()) or "as judged"
        wrong = f" ({', '.join(row.wrong)} wrong)" if row.wrong else ""
        times = [f"{row.us[way]:.3g}" if way in row.us else "-" for way in ways]
        table.add_row(sizes, *times, escape((row.chosen or row.why) + wrong))
    OUTPUT.print(table)
    if found.left:
        OUTPUT.print(f"[yellow]{len(found.left)} sizes left out[/]: too large, or no time was left (--seconds)")
    device = found.machine.get("device", "")
    OUTPUT.print(f"{found.seconds:.0f} s on {escape(device)}; kept in {escape(found.kept)}")
