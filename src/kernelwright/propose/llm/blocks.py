"""Fenced blocks of a model's reply, as they really come: unclosed, indented, with tildes, after leftover reasoning.

Decides what is a block and its tag. Refuses to know which of them is the kernel.
"""

import html
import re
from typing import NamedTuple

_OPEN = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^\n`]*)$")
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_BEGIN = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
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
    text = _THOUGHT.sub("", text)
    ends = list(_THOUGHT_END.finditer(text))
    if ends:
        text = text[ends[-1].end() :]
    begun = _THOUGHT_BEGIN.search(text)
    return text[: begun.start()] if begun else text


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


def unescaped(source: str) -> str:
    """The source with HTML's entities resolved, if a page has escaped it: then it has none of the signs itself."""
    escaped = _ENTITY.search(source) is not None and "<" not in source and ">" not in source
    return html.unescape(source) if escaped else source


def _closes(opened: re.Match[str], line: str) -> bool:
    fence, bare = opened[2], line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _block(opened: re.Match[str], lines: list[str], *, closed: bool) -> Block:
    indent = opened[1]
    body = [line.removeprefix(indent) for line in lines] if indent else lines
    words = opened[3].strip().lower().split()
    return Block(words[0].strip("{}.") if words else "", unescaped("\n".join(body)) + "\n", closed)
