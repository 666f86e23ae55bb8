"""`kernelwright mcp`: the same referee for a coding agent, over the Model Context Protocol on stdin and stdout."""

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.errors import MachineError, UsageError
from kernelwright.interfaces.cli.console import suppliers_of
from kernelwright.interfaces.cli.options import Target

if TYPE_CHECKING:
    from pydantic import JsonValue

    from kernelwright import api

DOOR = "kernelwright.interfaces.mcp"
"""Imported by name: interfaces do not know each other, and the SDK is an extra."""
TRIALS = 20


def mcp(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER", help="Read tasks only below this folder. May be repeated. Default: the current folder."
        ),
    ] = None,
    run_dir: Annotated[Path, typer.Option(help="Create the runs' folders here.")] = Path("runs"),
    target: Target = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help=f"How many kernels a run may check. Default: {TRIALS}.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Read settings from this TOML file. Flags override it.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder.")] = None,
    skill: Annotated[
        bool, typer.Option("--skill", help="Print SKILL.md, the page for coding agents, and exit.")
    ] = False,
    print_config: Annotated[
        str | None,
        typer.Option(
            metavar="CLIENT", help="Print a client's configuration and exit: claude, codex, cursor or vscode."
        ),
    ] = None,
) -> None:
    """Serve a coding agent over the Model Context Protocol.

    The agent loads a task, checks and profiles kernels, looks up techniques, and submits. Needs: pip install
    'kernelwright[mcp]'.
    """
    if skill:
        print(importlib.import_module(f"{DOOR}.service").skill(), end="")
        return
    if print_config is not None:
        _print_config(print_config, root or [Path()], target)
        return
    for folder in root or ():
        if not folder.is_dir():
            raise UsageError(f"--root: {folder} is no folder: name one that has the tasks")
    server = _server()
    settings = server.Settings(_config(config, trials), tuple(root or (Path(),)), run_dir, target, resume)
    server.serve(settings, suppliers_of(context))


def _print_config(client: str, roots: list[Path], target: str | None) -> None:
    """The configuration on stdout, so that it can be redirected, and where it belongs on stderr."""
    words = [flag for root in roots for flag in ("--root", str(root.resolve()))] + (
        ["--target", target] if target else []
    )
    command = [shutil.which("kernelwright") or "kernelwright", "mcp", *words]
    file, text = importlib.import_module(f"{DOOR}.service").configuration(client, command)
    print(text)
    print(f"this belongs into {file}", file=sys.stderr)


def _config(file: Path | None, trials: int | None) -> "api.RunConfig":
    """One kernel at a time, from outside; whatever else the file says."""
    from kernelwright import api

    fixed: dict[str, JsonValue] = {"proposer": api.OUTSIDE, "strategy": {"name": api.OUTSIDE}, "in_flight": 1}
    if trials is not None or file is None:
        fixed["budget"] = {"proposals": trials or TRIALS}
    return api.load_config(file, fixed)


def _server() -> ModuleType:
    try:
        return importlib.import_module(f"{DOOR}.server")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("mcp", "anyio")):
            raise
        raise MachineError("kernelwright mcp needs the MCP SDK: pip install 'kernelwright[mcp]'") from None
