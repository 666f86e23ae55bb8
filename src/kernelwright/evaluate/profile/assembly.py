"""What a compiler made of a kernel's loops: their instructions counted, from its assembly text. A pure function.

The text is GNU's for x86-64 (AT&T syntax) with `.loc` lines, as `g++ -S -g1` writes it. A loop is what lies between a label
and a later jump back to it; only innermost loops are told, for in these a kernel spends its time. What is told of them is
what decides: how wide they compute, and what each turn costs in loads, stores, gathers, divisions and calls.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelwright.records.profile import LoopProfile

MOST_LOOPS = 3
"""Loops that are told, the most deeply nested and widest first: beside a vectorised loop stand others for what is left."""
SMALLEST = 3
"""Instructions of a loop that computes anything."""
_LABEL = re.compile(r"^(\.?[\w$.]+):")
_LINE = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
_INSTRUCTION = re.compile(r"^\s+([a-z][a-z0-9]*)(?:\s+(.*?))?\s*(?:#.*)?$")
_PACKED = re.compile(r"^v?\w*p[sd]$|^v?p(?:add|sub|mul|min|max|and|or|xor|cmp|sll|srl|sra|shuf|madd|abs|gather)\w*$")
_SCALAR = re.compile(r"^v?\w*s[sd]$")
_ZEROING = re.compile(r"^v?p?xor(?:p[sd]|[dq])?$")
_REGISTERS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
_DIVISION = re.compile(r"^v?(?:div|sqrt)[ps][sd]$|^i?div[lq]?$")
_GATHER = re.compile(r"^vp?gather")
_STACK = re.compile(r"\(%r[sb]p\b")
_MEMORY = re.compile(r"\([^)]*\)")


class _Row(NamedTuple):
    line: int
    opcode: str
    operands: str


def innermost_loops(text: str) -> tuple[LoopProfile, ...]:
    """The innermost loops of an assembly text; empty where it has none, or is no x86-64 assembly."""
    rows, labels = _rows(text)
    spans = sorted(_spans(rows, labels))
    inner = [one for one in spans if not any(other != one and _within(other, one) for other in spans)]
    depth = {one: sum(_within(one, other) for other in spans) for one in inner}
    told = [(depth[one], _loop(rows[one[0] : one[1] + 1])) for one in inner if one[1] - one[0] + 1 >= SMALLEST]
    told.sort(key=lambda found: (found[0], found[1].vector_bits, found[1].instructions), reverse=True)
    return tuple(loop for _, loop in told[:MOST_LOOPS])


def _rows(text: str) -> tuple[list[_Row], dict[str, int]]:
    """Instructions with their lines in the source, and for each label the instruction behind it."""
    rows: list[_Row] = []
    labels: dict[str, int] = {}
    line = 0
    for raw in text.splitlines():
        if (label := _LABEL.match(raw)) is not None:
            labels[label[1]] = len(rows)
        elif (place := _LINE.match(raw)) is not None:
            line = int(place[1])
        elif (found := _INSTRUCTION.match(raw)) is not None:
            rows.append(_Row(line, found[1], found[2] or ""))
    return rows, labels


def _spans(rows: Sequence[_Row], labels: dict[str, int]) -> Iterator[tuple[int, int]]:
    """From a label's instruction to the jump back to it."""
    for place, row in enumerate(rows):
        target = labels.get(row.operands.strip(), place + 1) if row.opcode.startswith("j") else place + 1
        if target <= place:
            yield target, place


def _within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _loop(rows: Sequence[_Row]) -> LoopProfile:
    packed = [row for row in rows if _PACKED.match(row.opcode) and not _idle(row)]
    lines = [row.line for row in rows if row.line]
    return LoopProfile(
        line=max(set(lines), key=lines.count) if lines else 0,
        instructions=len(rows),
        vector_bits=max((_width(row) for row in packed), default=0),
        packed=len(packed),
        scalar=sum(bool(_SCALAR.match(row.opcode)) for row in rows),
        fma=sum(bool(re.match(r"^vf(?:n?m)(?:add|sub)", row.opcode)) for row in rows),
        loads=sum(_loads(row) for row in rows),
        stores=sum(_stores(row) for row in rows),
        gathers=sum(bool(_GATHER.match(row.opcode)) for row in rows),
        divisions=sum(bool(_DIVISION.match(row.opcode)) for row in rows),
        stack=sum(bool(_STACK.search(row.operands)) for row in rows),
        calls=sum(row.opcode.startswith("call") for row in rows),
    )


def _idle(row: _Row) -> bool:
    """Whether it sets a register to zero or copies one: scalar code does so with whole registers."""
    copies = row.opcode.lstrip("v").startswith("mov") and not _MEMORY.search(row.operands)
    return copies or _ZEROING.match(row.opcode) is not None


def _width(row: _Row) -> int:
    return next((bits for register, bits in _REGISTERS if register in row.operands), 0)


def _stores(row: _Row) -> bool:
    """Whether its last operand, which is where a result goes, is in memory."""
    compares = row.opcode.startswith(("cmp", "test", "prefetch", "lea", "call", "j", "nop"))
    return not compares and row.operands.rstrip().endswith(")")


def _loads(row: _Row) -> bool:
    if row.opcode.startswith(("lea", "call", "j", "nop", "prefetch")):
        return False
    found = _MEMORY.search(row.operands)
    return found is not None and not (row.opcode.lstrip("v").startswith("mov") and _stores(row))
