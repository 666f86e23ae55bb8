"""Fenced blocks of a model's reply, as they really come: unclosed, indented, with tildes, after leftover reasoning."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from kernelwright.propose.llm.tags import BEGIN, END, unwrapped

_OPEN = re.compile(rf"([ \t]*)(?:{BEGIN})*(`{{3,}}|~{{3,}})([^`]*)$", re.IGNORECASE)
_CLOSE = re.compile(rf"[ \t]*(`{{3,}}|~{{3,}})[ \t]*(?:{END}[ \t]*)*$", re.IGNORECASE)
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|#x27);")


class Block(NamedTuple):
    """A fenced block."""

    tag: str
    """First word after the fence, in small letters."""
    text: str
    closed: bool


def cleaned(text: str) -> str:
    """The reply without a byte order mark, foreign newlines and what is left of a model's reasoning."""
    text = sound(text).lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _spoken(text)


def _spoken(text: str) -> str:
    """What stands outside of thoughts; their beginning, or their end, may be missing."""
    kept: list[str] = []
    last, thinking = 0, False
    for mark in _THOUGHT.finditer(text):
        if mark[1] and not thinking:
            kept.clear()
        elif not mark[1] and not thinking:
            kept.append(text[last : mark.start()])
        thinking = not mark[1]
        last = mark.end()
    return "".join(kept) + ("" if thinking else text[last:])


def sound(text: str) -> str:
    """The text without what no file can hold: JSON may spell halves of characters, and nulls."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "")


def blocks(text: str) -> list[Block]:
    """Every fenced block, in order. One that is never closed reaches to the end."""
    found: list[Block] = []
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in text.split("\n"):
        if opened is None:
            opened = _OPEN.match(line)
            lines = []
        elif _closes(opened, line):
            found.append(_block(opened, lines, closed=True))
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        found.append(_block(opened, lines, closed=False))
    return found


def spans(text: str) -> Iterator[str]:
    """From each fence with a tag to the end, and to every later fence, the last first: any of them may be text of it."""
    rows = text.split("\n")
    ends = [i for i, row in enumerate(rows) if _CLOSE.match(row)]
    for start, opened in ((i, match) for i, row in enumerate(rows) if (match := _OPEN.match(row)) and match[3].strip()):
        for end in (len(rows), *reversed(ends)):
            if end > start:
                yield _block(opened, rows[start + 1 : end], closed=end < len(rows)).text


def unescaped(source: str) -> str:
    """The source with HTML's entities resolved, if a page has escaped it: then it has none of the signs itself."""
    escaped = _ENTITY.search(source) is not None and "<" not in source and ">" not in source
    return html.unescape(source) if escaped else source


def _closes(opened: re.Match[str], line: str) -> bool:
    found = _CLOSE.match(line)
    return found is not None and found[1].startswith(opened[2])


def _block(opened: re.Match[str], lines: list[str], *, closed: bool) -> Block:
    indent = opened[1]
    body = [line.removeprefix(indent) for line in lines] if indent else lines
    words = opened[3].strip().lower().split()
    return Block(words[0].strip("{}.") if words else "", unescaped(unwrapped("\n".join(body) + "\n")), closed)
