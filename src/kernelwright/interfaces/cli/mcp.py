"""`kernelwright mcp`: the same referee for a coding agent, over the Model Context Protocol on stdin and stdout."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright import api
from kernelwright.errors import MachineError
from kernelwright.interfaces.cli.app import suppliers_of

if TYPE_CHECKING:
    from pydantic import JsonValue

DOOR = "kernelwright.interfaces.mcp"
"""Imported by name: interfaces do not know each other, and the SDK is an extra."""
TRIALS = 20


def mcp(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    root: Annotated[list[Path] | None, typer.Option(help="Folder that tasks may be in. Default: this one.")] = None,
    run_dir: Annotated[Path, typer.Option(help="Where runs' folders are made.")] = Path("runs"),
    target: Annotated[str | None, typer.Option(help="cpu, cuda, or sm_80 … sm_120. Default: as optimize.")] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help=f"Most kernels checked in a run. Default: {TRIALS}.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file; flags win over it.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Folder of a run to go on with.")] = None,
    skill: Annotated[bool, typer.Option("--skill", help="Print SKILL.md for coding agents, and end.")] = False,
) -> None:
    """Serve a coding agent: load tasks, check kernels, profile, look up techniques, submit."""
    if skill:
        print(importlib.import_module(f"{DOOR}.skill").skill(), end="")
        return
    server = _server()
    settings = server.Settings(_config(config, trials), tuple(root or (Path(),)), run_dir, target, resume)
    server.serve(settings, suppliers_of(context))


def _config(file: Path | None, trials: int | None) -> api.RunConfig:
    """One kernel at a time, from outside; whatever else the file says."""
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
