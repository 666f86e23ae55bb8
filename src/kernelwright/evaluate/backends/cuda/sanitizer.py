"""compute-sanitizer on one candidate: found, run in a confined process, its report read.

What counts as an error is what the tool's own summary counts. Whoever calls hands over files and the arguments of a Python
program that makes one call of the candidate.
"""

import re
import shutil
from collections.abc import Mapping, Sequence

from kernelwright.evaluate.backends.instruments import NotRunError, Sanitized
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.sides.sanitized import DONE

PLACES = "/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/bin:/usr/bin"
OPTIONS = ("--print-limit", "20", "--target-processes", "all", "--report-api-errors", "no")
"""torch and the driver's bindings ask for functions that a driver may not have, and go on: no error of the candidate's."""
OWN_OPTIONS = {"memcheck": ("--padding", "4096")}
"""Allocations may lie side by side: an access just behind one would be an access to the next."""
LIMIT_S = 300.0
_SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
_FIRST = re.compile(
    r"^=+ ((?:Invalid|Misaligned|Error|Warning|Uninitialized|Barrier|Program hit|Race|Leaked|Out-of-range).*)$",
    re.MULTILINE,
)
_ADDRESSES = re.compile(r"^=+ +(at .*|by thread .*|Address .*)$", re.MULTILINE)


def tool_path() -> str | None:
    """Where compute-sanitizer is; None where it is not installed."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=PLACES)


def read_report(text: str) -> Sanitized:
    """What a report says.

    Raises:
        NotRunError: it has no summary, or the program under the tool did not get to its end.
    """
    summary = _SUMMARY.findall(text)
    if not summary:
        raise NotRunError(f"compute-sanitizer gave no summary: {_last_line(text)}")
    errors = sum(int(count) for count in summary)
    if errors:
        first = _FIRST.search(text)
        told = first.group(1).strip() if first else "not described"
        places = [m.strip() for m in _ADDRESSES.findall(text[first.end() :] if first else "")[:2]]
        return Sanitized(errors, "; ".join([told, *places])[:500])
    if DONE not in text:
        raise NotRunError(f"the candidate could not be called under compute-sanitizer: {_last_line(text)}")
    return Sanitized(0)


def sanitize(warm: Warm, jail: Jail, tool: str, program: Sequence[str], files: Mapping[str, str]) -> Sanitized:
    """Run a program under one of the tool's checks, beside these files.

    Args:
        warm: the parent that confines children.
        jail: the candidate's confinement, which must let it start programs.
        tool: `memcheck` or `racecheck`.
        program: the command under the tool; it prints DONE as its last act.
        files: texts by name, written to its folder.

    Raises:
        NotRunError: the tool is missing, or said nothing.
    """
    path = tool_path()
    if path is None:
        raise NotRunError("compute-sanitizer is not installed")
    argv = [path, "--tool", tool, *OPTIONS, *OWN_OPTIONS.get(tool, ()), *program]
    child = Contestant(warm.spawn("tool", jail), LIMIT_S)
    try:
        executed = child.ask(Execute(argv=argv, texts=files))
    except (ChildGoneError, ChildSlowError, ChildRaisedError) as error:
        raise NotRunError(f"compute-sanitizer did not end: {error!r}") from None
    finally:
        child.close()
    return read_report(executed.log)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"
