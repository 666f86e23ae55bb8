"""A kernel out of a model's reply, whatever it looks like.

It finds the block that is meant, and knows when to take an edit, a JSON field or unfenced text for the source. A reply
without a usable kernel is a value with its reason, which the model is told. Nothing is run.

A Python module with an error counts as a kernel, and the referee reports the error. Pieces of a module do not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kernelwright.languages import Language, language
from kernelwright.propose.llm.blocks import Block, blocks, cleaned, spans, unescaped
from kernelwright.propose.llm.edits import NoEdit, apply_diff, apply_edits, is_diff, scan
from kernelwright.propose.llm.kernel_text import Kernel, NoKernel, defines_kernel, flaw, read
from kernelwright.propose.llm.loose_json import objects, salvage, unescape
from kernelwright.propose.llm.tags import enclosed, unwrapped
from kernelwright.records.chat import ChatReply
from kernelwright.records.names import LanguageName

LONGEST = 400_000
"""Characters of a reply that are read."""
REFUSED = "it was refused; writing this kernel is an ordinary engineering task"
MOST_SPANS = 20
"""Texts between two fences that are tried as a module."""
FIELDS = ("code", "kernel", "source", "kernel_code", "new_code", "solution")
"""Names under which models put a source into JSON."""
_FIRST = {
    "python": re.compile(r"^(?:import |from |@|class |def |#|\"\"\")", re.MULTILINE),
    "c": re.compile(r"^(?:#|//|/\*|extern|static|template|using|namespace|constexpr|inline|__global__)", re.MULTILINE),
}
_LAST = {
    "python": re.compile(r"^(?:[ \t]+\S.*|[)\]}].*|[A-Za-z_][\w.]*[ \t]*(?:=|\().*)$", re.MULTILINE),
    "c": re.compile(r"^.*(?:\}|;|#endif).*$", re.MULTILINE),
}


@dataclass(frozen=True)
class _Reading:
    """How a reply is read."""

    language: LanguageName
    parent: str
    """What edits are applied to."""
    whole: bool
    """The reply was not cut off: what is left open at its end is meant to be there."""

    @property
    def python(self) -> bool:
        return self.written.syntax == "python"

    @property
    def tags(self) -> tuple[str, ...]:
        """What a block of this language may be tagged."""
        return (self.written.fence, *self.written.tags)

    @property
    def written(self) -> Language:
        return language(self.language)


def parse(reply: ChatReply, name: LanguageName, parent: str = "") -> Kernel | NoKernel:
    """The kernel in a reply; `parent` is the source that edits are applied to."""
    text = cleaned(reply.text[:LONGEST])
    if not text.strip():
        return NoKernel(_nothing(reply))
    found = _found(text, _Reading(name, parent, reply.finish != "length"))
    if isinstance(found, NoKernel) and reply.finish == "refusal":
        return NoKernel(REFUSED)
    if isinstance(found, NoKernel) and reply.finish == "length":
        return NoKernel("it was cut off at the limit of tokens: be brief, and write only the source")
    return found


def _nothing(reply: ChatReply) -> str:
    if reply.finish == "refusal":
        return REFUSED
    if reply.text.strip():
        return "it ended while it was still reasoning: reply with the source only"
    return "it was cut off before any text" if reply.finish == "length" else "it was empty"


def _found(text: str, how: _Reading) -> Kernel | NoKernel:
    """The first reading that gives a kernel; else the first reason why there is none."""
    reason: NoKernel | None = None
    for found in _readings(text, how):
        if isinstance(found, Kernel):
            return found
        reason = reason or found
    return reason or _unfenced(text, how)


def _readings(text: str, how: _Reading) -> Iterator[Kernel | NoKernel | None]:
    fenced = [block for block in blocks(text) if block.closed or how.whole]
    yield _from_edits(text, how)
    yield from (_from_json(block.text, how) for block in fenced if block.tag == "json" or _is_json(block.text))
    yield _from_blocks(text, fenced, how)
    yield _from_diff(text, fenced, how)
    found = _from_json(text, how)
    yield found if isinstance(found, Kernel) or _is_json(text) else None


def _from_edits(text: str, how: _Reading) -> Kernel | NoKernel | None:
    """The parent with the edits applied; or what is put in the place of nothing, if it is a whole kernel."""
    found = scan(text.split("\n"))
    if not found.edits and not found.unfinished:
        return None
    new = ["\n".join(edit.new) + "\n" for edit in found.edits if not "".join(edit.old).strip()]
    whole = [source for source in new if defines_kernel(source, how.language)]
    return read(unwrapped(whole[-1]), how.language) if whole else _edited(apply_edits(how.parent, found), how)


def _edited(source: str | NoEdit, how: _Reading) -> Kernel | NoKernel:
    if isinstance(source, NoEdit):
        return NoKernel(f"its edit does not apply: {source.reason}; reply with the whole source")
    return read(source, how.language)


def _from_blocks(text: str, fenced: list[Block], how: _Reading) -> Kernel | NoKernel | None:
    """The last whole block that holds a kernel other than the parent; of Python, what can be read as such."""
    likely = [b for b in fenced if b.tag in how.tags or not b.tag or defines_kernel(b.text, how.language)]
    likely = [b for b in likely if not (is_diff(b.text) or b.tag == "diff" or _is_json(b.text) or _is_edit(b.text))]
    holding = [b for b in likely if defines_kernel(b.text, how.language)]
    holding.sort(key=lambda b: (_rows(b.text) != _rows(how.parent), b.closed, b.tag in how.tags or not b.tag))
    if not holding:
        return None
    return _module(text, likely, holding, how) if how.python else read(holding[-1].text, how.language)


def _module(text: str, likely: list[Block], holding: list[Block], how: _Reading) -> Kernel | NoKernel:
    """The module in blocks: the last that is one; or several together; or one that a fence within it has cut."""
    readable = [b.text for b in holding if not flaw(b.text)]
    if readable and _partial(readable[-1]):
        joined = "\n".join(b.text for b in likely if b.tag in how.tags)
        if defines_kernel(joined, how.language) and not _partial(joined) and not flaw(joined):
            readable.append(joined)
    if not readable:
        cut = (span for span in islice(spans(text), MOST_SPANS) if defines_kernel(span, how.language))
        readable = [span for span in cut if not flaw(span)][:1]
    if not readable and len(likely) > 1:
        return NoKernel(
            f"no block of it is a whole Python module ({flaw(holding[-1].text)}): write one, without fences in it"
        )
    return read(readable[-1] if readable else holding[-1].text, how.language)


def _partial(source: str) -> bool:
    """A module without its imports is the rest of another block."""
    return re.search(r"^(?:import|from) ", source, re.MULTILINE) is None


def _rows(source: str) -> list[str]:
    return [line.rstrip() for line in source.strip().split("\n")]


def _is_edit(text: str) -> bool:
    found = scan(text.split("\n"))
    return bool(found.edits or found.unfinished)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[{"))


def _from_diff(text: str, fenced: list[Block], how: _Reading) -> Kernel | NoKernel | None:
    diffs = [b.text for b in fenced if is_diff(b.text)] or ([text] if not fenced and is_diff(text) else [])
    return _edited(apply_diff(how.parent, diffs[-1]), how) if diffs else None


def _from_json(text: str, how: _Reading) -> Kernel | NoKernel | None:
    source = _field(text, how.whole)
    if source is None:
        return None
    if "\n" not in source.strip() and "\\n" in source:
        source = unescape(source)
    inner = _from_blocks(source, blocks(source), how)
    return inner if inner is not None else read(unescaped(unwrapped(source)), how.language)


def _field(text: str, whole: bool) -> str | None:
    for found in objects(text):
        for key in FIELDS:
            value = found.get(key)
            if isinstance(value, str) and value.strip():
                return value
    held = salvage(text, FIELDS)
    return held.text if held is not None and held.text.strip() and (held.closed or whole) else None


def _unfenced(text: str, how: _Reading) -> Kernel | NoKernel:
    within = unwrapped(enclosed(text))
    text = within if defines_kernel(within, how.language) else text
    if not how.whole or not defines_kernel(text, how.language):
        return NoKernel(f"it holds no kernel; expected is {how.written.what} in one fenced block")
    first = _FIRST[how.written.syntax].search(text)
    lasts = list(_LAST[how.written.syntax].finditer(text))
    source = text[first.start() if first else 0 : lasts[-1].end() if lasts else len(text)]
    source = unescaped(unwrapped(source)).rstrip().removesuffix("```").rstrip() + "\n"
    wrong = flaw(source) if how.python else ""
    return NoKernel(f"it is no Python module: {wrong}") if wrong else read(source, how.language)
