"""A `python` candidate compiled, in its own process, for a device that is not here: its module runs, no kernel does."""

import socket
import time
from pathlib import Path

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.python_extension import precompiled
from kernelwright.evaluate.python_extension.fast_path import FastPath
from kernelwright.evaluate.sandbox.messages.tools import BuildExtension, ExtensionBuilt
from kernelwright.evaluate.triton.model import load_entry, private_path

LOG = 100_000


def build(command: BuildExtension) -> ExtensionBuilt:
    """Import the module with `load_inline` replaced; what it raises is told by the session."""
    candidate = command.candidate
    start = time.perf_counter()
    path = FastPath(_headers(command.headers), command.arch, only_compile=True)
    path.install()
    load_entry(private_path("kernel"), candidate)
    log = "\n".join(said for made in path.builds for said in made.log)
    ways = [way for made in path.builds for way in made.ways]
    return ExtensionBuilt(log=log[-LOG:], ways=ways, seconds=time.perf_counter() - start)


def _headers(given: str | None) -> Path:
    """Precompiled ones where they have been made, else the same to be read each time."""
    if given is not None:
        return Path(given)
    folder = Path("headers").absolute()
    folder.mkdir()
    precompiled.stand_ins(folder)
    return folder


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    session.serve(control, {BuildExtension: build})
