"""Splits a markdown task into its parts: title and sentences, `## Reference`, `## Host context`, `## Limits`.

A line within a fence is never a heading.
"""

import re
from typing import NamedTuple

from kernelwright.errors import TaskError

SECTIONS = ("Reference", "Host context", "Limits")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[^`\n]*$")
_HEADING = re.compile(r"^(#{1,2})[ \t]+(.*?)[ \t]*#*$")
_ITEM = re.compile(r"^[-*+][ \t]+`?(\w+)`?[ \t]*[:=][ \t]*(.*?)$")


class Block(NamedTuple):
    """A run of lines within a section: prose, or what a fence holds."""

    code: bool
    text: str


def sections_of(text: str, where: str) -> dict[str, list[Block]]:
    """The blocks of every section by its name; what stands before the first of them is the section "".

    Raises:
        TaskError: a section is unknown or comes twice, or a fence is never closed.
    """
    found: dict[str, list[Block]] = {"": []}
    current, lines = "", list[str]()
    fence = ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                _close(found[current], lines, code=True)
                fence = ""
            else:
                lines.append(line)
        elif opened:
            _close(found[current], lines, code=False)
            fence = opened[1]
        elif (heading := _HEADING.match(line)) and (len(heading[1]) == 2 or not current):
            _close(found[current], lines, code=False)
            current = _entered(heading, current, found, where)
        else:
            lines.append(line)
    if fence:
        raise TaskError(f"{where}: the fence {fence} in its section {current or 'before the first'!r} is never closed")
    _close(found[current], lines, code=False)
    return found


def _close(blocks: list[Block], lines: list[str], code: bool) -> None:
    text = "\n".join(lines)
    if code or text.strip():
        blocks.append(Block(code, f"{text}\n" if code else text.strip()))
    lines.clear()


def _entered(heading: re.Match[str], current: str, found: dict[str, list[Block]], where: str) -> str:
    """The section that a heading begins. A title is prose of the section that it stands in."""
    level, title = heading[1], heading[2]
    if len(level) == 1:
        found[current].append(Block(False, title))
        return current
    name = next((s for s in SECTIONS if s.lower() == title.lower()), None)
    if name is None or name in found:
        fault = "is unknown" if name is None else "comes twice"
        raise TaskError(f"{where}: the section {title!r} {fault}: there may be one each of {', '.join(SECTIONS)}")
    found[name] = []
    return name


def limits_of(blocks: list[Block], where: str) -> dict[str, object]:
    """A list of `- name: value` as a table; several `note` become `notes`.

    Raises:
        TaskError: a line is no such item, or a name comes twice.
    """
    found: dict[str, object] = {}
    notes: list[str] = []
    for line in (line.strip() for block in blocks for line in block.text.splitlines() if line.strip()):
        item = _ITEM.match(line)
        if item is None or item[1] in found:
            fault = "has the name of another" if item else "is no item"
            raise TaskError(f"{where}: the limit {line[:80]!r} {fault}: write one `- name: value` a line")
        name, value = item[1], item[2].strip("`")
        if name == "note":
            notes.append(value)
        else:
            found[name] = value
    return {**found, "notes": notes} if notes else found
