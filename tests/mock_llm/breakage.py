"""Makes a kernel wrong: by a fault that no compiler accepts, or by one that computes something else.

Each fault says what would be evidence of it.
"""

import random
import re
from typing import NamedTuple

from mock_llm.faults import SYNTAX, Broken

STORE_CPP = re.compile(r"^(\s+)([\w]+\[[^\]]*\]) = (.+);$")
SUM = re.compile(r"^(\s+atomicAdd\(\w+, )(.+)$")
STORE_TRITON = re.compile(r"^(\s+tl\.store\([^,]+, )(.+?)((?:, mask=[^=]*)?\))$")
STATEMENT = re.compile(r"^\s+(?:const|double|float) .*;$")
INNER = re.compile(r"^(\s*for \(std::int64_t i = .*; i < )(.+)(; \+\+i\) \{)$")
GUARD = re.compile(r"^(\s*if \(i >= )(.+)(\) return;)$")
"""In CUDA C++, what keeps threads beyond the last element out."""
BEYOND = 1 << 22
"""Elements beyond the last one that a kernel without its guard's sense writes to, or reads."""
INSIDE = re.compile(r"^(\s*inside = )(.+)$")
WRONG = "1.0625"


class Fault(NamedTuple):
    """What is wrong with a kernel, and by what an error's text shows that it is about this."""

    kind: Broken
    token: str = ""
    """An identifier that nothing declares."""
    line: int = 0
    """Of the source, from 1."""


class BrokenKernel(NamedTuple):
    """A source with its fault."""

    source: str
    fault: Fault


def broken(source: str, cpp: bool, kind: Broken, draw: random.Random) -> BrokenKernel | None:
    """The source with a fault of that kind; of another kind, or none, where the source has no place for it."""
    lines = source.split("\n")
    start = _start(lines, cpp)
    if kind in SYNTAX:
        return _syntax(lines, start, cpp, kind, draw)
    change = {"off_by_one": _off_by_one, "dropped_term": _dropped, "wrong_constant": _constant}[kind]
    if not change(lines, start, cpp):
        kind = "wrong_constant"
        if not _constant(lines, start, cpp):
            return None
    return BrokenKernel("\n".join(lines), Fault(kind))


def _start(lines: list[str], cpp: bool) -> int:
    """Position of the kernel's first line of work."""
    head = next(
        (i for i, line in enumerate(lines) if line.startswith(('extern "C"', "__global__") if cpp else "def _kernel(")),
        0,
    )
    end = "{" if cpp else ":"
    opened = next((i for i in range(head, len(lines)) if lines[i].endswith(end) and "," not in lines[i][-2:]), head)
    return opened + (1 if cpp else 2)


def _syntax(lines: list[str], start: int, cpp: bool, kind: Broken, draw: random.Random) -> BrokenKernel:
    if kind == "punctuation":
        found = (
            _statements(lines, start) if cpp else [i for i, line in enumerate(lines) if line.startswith("def _run(")]
        )
        if found:
            at = draw.choice(found)
            lines[at] = lines[at][:-1]
            return BrokenKernel("\n".join(lines), Fault(kind, line=at + 1))
    token = f"drill_missing_{draw.getrandbits(32):08x}"
    lines.insert(start, f"  const auto factor = {token};" if cpp else f"    factor = {token}")
    return BrokenKernel("\n".join(lines), Fault("undeclared", token, start + 1))


def _statements(lines: list[str], start: int) -> list[int]:
    return [i for i in range(start, len(lines)) if STATEMENT.match(lines[i]) and "//" not in lines[i]]


def _off_by_one(lines: list[str], start: int, cpp: bool) -> bool:
    """The last loop over elements, or the last thread, ends one too early."""
    if cpp and _guarded(lines, start, " - 1"):
        return True
    pattern = INNER if cpp else INSIDE
    # A loop over what is left of whole vectors may have nothing to do.
    found = [i for i in range(start, len(lines)) if pattern.match(lines[i]) and "% LANES" not in lines[i]]
    if not found:
        return False
    if cpp:
        lines[found[-1]] = INNER.sub(r"\1\2 - 1\3", lines[found[-1]])
    else:
        short = "column < cols - 1" if "column" in lines[found[-1]] else "at < numel - 1"
        lines[found[-1]] = INSIDE.sub(rf"\1(\2) & ({short})", lines[found[-1]])
    return True


def _dropped(lines: list[str], start: int, cpp: bool) -> bool:
    """A sum keeps its last term only; where a thread for each element has none, threads go on beyond the last element."""
    found = [i for i in range(start, len(lines)) if " += " in lines[i] and lines[i].strip()[0] not in "f#"]
    if cpp and found:
        lines[found[-1]] = lines[found[-1]].replace(" += ", " = ", 1)
        return True
    return (cpp and _guarded(lines, start, f" + {BEYOND}")) or _stored(lines, start, cpp, "0.0")


def _guarded(lines: list[str], start: int, change: str) -> bool:
    """Threads stop elsewhere than at the last element."""
    at = next((i for i in range(start, len(lines)) if GUARD.match(lines[i])), None)
    if at is not None:
        lines[at] = GUARD.sub(rf"\1\2{change}\3", lines[at])
    return at is not None


def _constant(lines: list[str], start: int, cpp: bool) -> bool:
    """What is stored is six percent too large."""
    return _stored(lines, start, cpp, WRONG)


def _stored(lines: list[str], start: int, cpp: bool, factor: str) -> bool:
    pattern = (STORE_CPP, SUM)["atomicAdd(" in "".join(lines)] if cpp else STORE_TRITON
    found = [i for i in range(start, len(lines)) if pattern.match(lines[i])]
    if not found:
        return False
    at = found[-1]
    if cpp:
        lines[at] = STORE_CPP.sub(rf"\1\2 = {factor}f * (\3);", SUM.sub(rf"\g<1>{factor} * \g<2>", lines[at]))
    else:
        lines[at] = STORE_TRITON.sub(rf"\1({factor} * (\2))\3", lines[at])
    return True
