"""Edits of a source: SEARCH/REPLACE blocks and unified diffs.

An edit applies where its old lines occur exactly once, up to blanks at the ends of lines and to the indentation of the
whole block. Nothing is guessed; an edit that does not apply says why.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_BEGIN = re.compile(r"([ \t]*)<{5,9}")
_MIDDLE = re.compile(r"[ \t]*={5,9}[ \t]*$")
_END = re.compile(r"[ \t]*>{5,9}")
_HUNK = re.compile(r"^@@[^\n]*$", re.MULTILINE)


class NoEdit(NamedTuple):
    """Why an edit cannot be applied."""

    reason: str


class Edit(NamedTuple):
    """Lines to be put in the place of others."""

    old: list[str]
    new: list[str]
    indent: str = ""
    """Blanks before the mark that begins it."""

    def dedented(self) -> "Edit":
        """The same, moved to the left as far as its mark is from the margin."""
        old, new = ([line.removeprefix(self.indent) for line in lines] for lines in (self.old, self.new))
        return Edit(old, new)


class Edits(NamedTuple):
    """The SEARCH/REPLACE blocks of a text, in order."""

    edits: list[Edit]
    unfinished: int = 0
    """Which block, from 1, is the first without an end; 0: they all have one."""


def scan(lines: Iterable[str]) -> Edits:
    """The blocks in a text's lines, which are looked at once each. A block that begins within another ends it unfinished."""
    found: list[Edit] = []
    unfinished, number = 0, 0
    current: Edit | None = None
    side: list[str] = []
    for line in lines:
        begun = _BEGIN.match(line)
        if begun:
            unfinished = unfinished or (number if current else 0)
            number, current = number + 1, Edit([], [], begun[1])
            side = current.old
        elif current is None:
            continue
        elif side is current.old and _MIDDLE.match(line):
            side = current.new
        elif side is current.new and _END.match(line):
            found.append(current)
            current = None
        else:
            side.append(line)
    return Edits(found, unfinished or (number if current else 0))


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff: it has a hunk, and lines that are taken away or added."""
    return _HUNK.search(text) is not None and re.search(r"^[+-]", text, re.MULTILINE) is not None


def apply_edits(source: str, found: Edits) -> str | NoEdit:
    """The source after every block, in order: as they stand, or else moved to the margin, as in a list's item."""
    if found.unfinished:
        return NoEdit(f"SEARCH block {found.unfinished} has no end")
    made = _apply(source, found.edits, "SEARCH block")
    if isinstance(made, NoEdit) and any(edit.indent for edit in found.edits):
        moved = _apply(source, [edit.dedented() for edit in found.edits], "SEARCH block")
        return made if isinstance(moved, NoEdit) else moved
    return made


def apply_diff(source: str, text: str) -> str | NoEdit:
    """The source after a unified diff. Line numbers are not believed, context is."""
    *followed, last = (part.strip("\n").split("\n") for part in _HUNK.split(text))
    changes = [_hunk(lines) for lines in [*map(_without_header, followed), last][1:]]
    return _apply(source, [change for change in changes if change.old != change.new], "hunk")


def _hunk(lines: list[str]) -> Edit:
    made = Edit([], [])
    for sign, body in ((line[:1], line[1:]) for line in lines):
        if sign in ("-", " ", ""):
            made.old.append(body)
        if sign in ("+", " ", ""):
            made.new.append(body)
    return made


def _without_header(lines: list[str]) -> list[str]:
    """Lines before a hunk without the header of its file. Elsewhere a line `--- i` takes `-- i` away."""
    headed = len(lines) > 1 and lines[-2].startswith("--- ") and lines[-1].startswith("+++ ")
    return lines[:-2] if headed else lines


def _apply(source: str, changes: Sequence[Edit], what: str) -> str | NoEdit:
    if not changes:
        return NoEdit(f"it holds no {what} that changes anything")
    rows = source.split("\n")
    for number, (old, new, _) in enumerate(changes, 1):
        if not any(line.strip() for line in old):
            return NoEdit(f"{what} {number} has no old lines, so its place is unknown")
        places = _places(rows, old)
        if len(places) != 1:
            found = "do not stand in the candidate's source" if not places else f"stand there {len(places)} times"
            return NoEdit(f"the old lines of {what} {number} {found}; they begin with {_first(old)!r}")
        rows[places[0] : places[0] + len(old)] = new
    return "\n".join(rows)


def _places(rows: list[str], old: list[str]) -> list[int]:
    wanted = [line.rstrip() for line in old]
    stripped = [line.rstrip() for line in rows]
    starts = (i for i in range(len(rows) - len(wanted) + 1) if stripped[i] == wanted[0])
    return [i for i in starts if stripped[i : i + len(wanted)] == wanted]


def _first(old: list[str]) -> str:
    return next(line for line in old if line.strip()).strip()[:80]
