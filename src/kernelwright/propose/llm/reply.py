"""What models put around a source in a reply: fences, tags and JSON, as they really come.

Fences are unclosed, indented, made of tildes, or stand after leftover reasoning. JSON has prose around it, raw newlines
in its strings, or no end; what is salvaged of it is text, never evaluated.
"""

import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

NAMES = ("kernel", "code", "source", "answer", "solution", "response", "output", "file", "kernel_code", "new_code")
BEGIN = rf"(?:<!\[CDATA\[|<(?:{'|'.join(NAMES)})(?:[ \t][^<>\n]*)?>)"
"""Pattern of one such beginning."""
END = rf"(?:\]\]>|</(?:{'|'.join(NAMES)})>)"
"""Pattern of one such end."""
_BEGIN = re.compile(BEGIN, re.IGNORECASE)
_END = re.compile(END, re.IGNORECASE)
_BLANKS = re.compile(r"\s*")


def unwrapped(source: str) -> str:
    """The source without tags before and behind it; unchanged where there are none."""
    start, end = 0, len(source)
    while begun := _BEGIN.match(source, _BLANKS.match(source, start).end()):  # type: ignore[union-attr]  # \s* always matches
        start = begun.end()
    ends = [match.span() for match in _END.finditer(source, start)]
    while ends and not source[ends[-1][1] : end].strip():
        end = ends.pop()[0]
    return source if (start, end) == (0, len(source)) else source[start:end].strip("\n") + "\n"


def enclosed(text: str) -> str:
    """What stands between the first tag that begins and the last that ends; empty where there are no two."""
    begun = _BEGIN.search(text)
    ends = [match.start() for match in _END.finditer(text)] if begun else []
    return text[begun.end() : ends[-1]] if begun and ends and ends[-1] > begun.end() else ""


_DECODER = json.JSONDecoder(strict=False)
_TRIPLE = "(\"\"\"|''')(.*?)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f"}
MOST_STARTS = 200
"""Braces that are tried as the beginning of an object."""


class Salvaged(NamedTuple):
    """A string value found in a broken object."""

    text: str
    closed: bool
    """Its closing quote was there."""


def objects(text: str) -> Iterator[dict[str, JsonValue]]:
    """Every JSON object that stands in the text and is whole, outermost ones only."""
    position, tried = text.find("{"), 0
    while position >= 0 and tried < MOST_STARTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield value
        position = text.find("{", end)


def salvage(text: str, keys: tuple[str, ...]) -> Salvaged | None:
    """The value of the first of these keys in an object that is broken; None when there is no such key."""
    for key in keys:
        triple = re.search(rf'["\']{key}["\']\s*:\s*{_TRIPLE}(?:\1|\Z)', text, re.DOTALL)
        if triple:
            return Salvaged(triple[2].strip("\n") + "\n", text[triple.end() - 3 : triple.end()] == triple[1])
        quoted = re.search(rf'"{key}"\s*:\s*"((?:[^"\\]|\\.)*)("?)', text, re.DOTALL)
        if quoted:
            return Salvaged(unescape(quoted[1]), quoted[2] == '"')
    return None


def unescape(text: str) -> str:
    """Backslash escapes of JSON resolved; unknown ones stay."""
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _escape, text, flags=re.DOTALL)


def _escape(match: re.Match[str]) -> str:
    body = match[1]
    return chr(int(body[1:], 16)) if len(body) == 5 else _ESCAPES.get(body, match[0])


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
