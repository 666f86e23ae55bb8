"""`kernelwright techniques WORDS`: what to try against a bottleneck, for an operator family, a device and a language."""

from typing import Annotated

import typer
from rich.markup import escape

from kernelwright.interfaces.cli.console import ERRORS, OUTPUT


def techniques(  # noqa: PLR0913  a flag is a parameter
    words: Annotated[list[str] | None, typer.Argument(help="What it is about, in words.", show_default=False)] = None,
    bottleneck: Annotated[
        str, typer.Option(help="What a profile named, such as memory, latency, launch or uncoalesced.")
    ] = "unknown",
    family: Annotated[str, typer.Option(help="Of the task's operations, such as reduction or contraction.")] = "",
    kind: Annotated[str | None, typer.Option(help="Kind of device, such as cpu or cuda.")] = None,
    language: Annotated[str | None, typer.Option(help="Language to write: {languages}.")] = None,
    device: Annotated[str, typer.Option(help="Whose measured gains count first, such as 'NVIDIA H200'.")] = "",
    tried: Annotated[list[str] | None, typer.Option(help="A technique that is not offered again. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many answers at most.")] = 5,
    whole: Annotated[bool, typer.Option("--whole", help="Show whole cards, with their examples.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Look up what to try next.

    Exit code 0: something was found. 1: nothing applies.
    """
    from kernelwright import api

    asked = {"kind": kind, "language": language, "family": family, "device": device, "tried": tried or []}
    found = api.find_techniques(" ".join(words or ()), asked, bottleneck, limit)
    if json:
        from json import dumps

        print(dumps([hit.model_dump(mode="json") for hit in found], indent=2))
    for hit in () if json else found:
        gained = f", {hit.gain:.2f} times as fast where it was measured" if hit.gain else ", not measured"
        text = api.card_words(hit.technique) if whole else f"{hit.technique.name}: {hit.technique.title}{gained}"
        OUTPUT.print(escape(text))
    if not found:
        ERRORS.print("nothing matches: ask in other words, or leave out --kind, --language, --family or --tried")
    raise typer.Exit(0 if found else 1)
