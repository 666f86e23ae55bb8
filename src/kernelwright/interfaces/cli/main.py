"""The entry point: runs a verb and turns every error into one message and its exit code.

Each verb is a file; importing it adds it to the application.
"""

import sys
from collections.abc import Sequence

from rich.markup import escape

from kernelwright.api import Suppliers
from kernelwright.errors import KernelwrightError
from kernelwright.interfaces.cli.admit import admit
from kernelwright.interfaces.cli.app import ERRORS, app
from kernelwright.interfaces.cli.bench import bench
from kernelwright.interfaces.cli.check import check
from kernelwright.interfaces.cli.doctor import doctor
from kernelwright.interfaces.cli.learn import learn
from kernelwright.interfaces.cli.mcp import mcp
from kernelwright.interfaces.cli.optimize import optimize
from kernelwright.interfaces.cli.profile import profile
from kernelwright.interfaces.cli.recheck import recheck
from kernelwright.interfaces.cli.report import report
from kernelwright.interfaces.cli.resume import resume
from kernelwright.interfaces.cli.runs import runs
from kernelwright.interfaces.cli.verify import verify
from kernelwright.interfaces.cli.words import plain

VERBS = (optimize, bench, check, profile, verify, recheck, resume, report, runs, admit, learn, doctor, mcp)

for verb in VERBS:
    app.command()(verb)


def main() -> None:
    """What the command `kernelwright` does."""
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str], suppliers: Suppliers | None = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        app(list(arguments), obj=suppliers)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except KernelwrightError as error:
        if "--debug" in arguments:
            raise
        ERRORS.print(f"[bold red]error:[/] {escape(plain(str(error)))}")
        return error.exit_code
    return 0
