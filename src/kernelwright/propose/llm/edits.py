"""Edits of a source: SEARCH/REPLACE blocks and unified diffs.

Decides where an edit applies: where its old lines stand, once, up to blanks at the ends of lines. It never guesses; an
edit that does not apply says why.
"""

import re
from typing import NamedTuple

_EDIT = re.compile(
    r"^[ \t]*<{5,9}[ \t]*(?:SEARCH|ORIGINAL|HEAD)?[^\n]*\n(.*?)^[ \t]*={5,9}[ \t]*\n(.*?)^[ \t]*>{5,9}[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_HUNK = re.compile(r"^@@[^\n]*$", re.MULTILINE)


class NoEdit(NamedTuple):
    """Why an edit cannot be applied."""

    reason: str


class _Change(NamedTuple):
    old: list[str]
    new: list[str]


def has_edits(text: str) -> bool:
    """Whether there are SEARCH/REPLACE blocks."""
    return _EDIT.search(text) is not None


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff: it has a hunk, and lines that are taken away or added."""
    return _HUNK.search(text) is not None and re.search(r"^[+-]", text, re.MULTILINE) is not None


def apply_edits(source: str, text: str) -> str | NoEdit:
    """The source after every SEARCH/REPLACE block of a text, in order."""
    return _apply(source, [_Change(_rows(old), _rows(new)) for old, new in _EDIT.findall(text)], "SEARCH block")


def apply_diff(source: str, text: str) -> str | NoEdit:
    """The source after a unified diff. Line numbers are not believed, context is."""
    changes = [_hunk(part) for part in _HUNK.split(text)[1:]]
    return _apply(source, [change for change in changes if change.old != change.new], "hunk")


def _hunk(text: str) -> _Change:
    old, new = [], []
    for line in text.removeprefix("\n").rstrip("\n").split("\n"):
        if line.startswith(("---", "+++", "diff --git", "index ", "\\ No newline")):
            continue
        sign, body = line[:1], line[1:]
        if sign in ("-", " ", ""):
            old.append(body)
        if sign in ("+", " ", ""):
            new.append(body)
    return _Change(old, new)


def _apply(source: str, changes: list[_Change], what: str) -> str | NoEdit:
    if not changes:
        return NoEdit(f"it holds no {what} that changes anything")
    rows = source.split("\n")
    for number, (old, new) in enumerate(changes, 1):
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
    return [i for i in range(len(rows) - len(wanted) + 1) if stripped[i : i + len(wanted)] == wanted]


def _first(old: list[str]) -> str:
    return next(line for line in old if line.strip()).strip()[:80]


def _rows(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
