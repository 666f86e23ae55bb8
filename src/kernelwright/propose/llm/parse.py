"""A kernel out of a model's reply, whatever it looks like.

It finds the block that is meant, and knows when to take an edit, a JSON field or unfenced text for the source. A reply
without a usable kernel is a value with its reason, which the model is told. `tasks.kernel_file` reads the source, as
anybody's. Nothing is run.

A Python module with an error counts as a kernel, and the referee reports the error. Pieces of a module do not. An edit
(SEARCH/REPLACE blocks, or a unified diff) applies where its old lines occur exactly once, up to blanks at the ends of
lines and to the indentation of the whole block. A reply of nothing but assignments gives the parent's module-level constants
other values.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.languages import Language, language, language_of
from kernelwright.propose.llm.reply import (
    Block,
    blocks,
    cleaned,
    enclosed,
    objects,
    salvage,
    sound,
    spans,
    unescape,
    unescaped,
    unwrapped,
)
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatReply
from kernelwright.records.names import LanguageName
from kernelwright.tasks.kernel_file import parse_text

_BEGIN = re.compile(r"([ \t]*)<{5,9}")
_MIDDLE = re.compile(r"[ \t]*={5,9}[ \t]*$")
_END = re.compile(r"[ \t]*>{5,9}")
_HUNK = re.compile(r"^@@[^\n]*$", re.MULTILINE)
_SETTING = re.compile(r"([A-Za-z_]\w*) *= *[^=\s].*")
"""A module-level constant as a line of its own."""
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")


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


def settings(lines: Iterable[str]) -> dict[str, str] | None:
    """Lines that give constants values, by name; None where there is anything else."""
    written = [line.rstrip() for line in lines if line.strip() and not _FENCE.match(line)]
    found = {match[1]: match[0] for match in map(_SETTING.fullmatch, written) if match}
    return found if found and len(found) == len(written) else None


def apply_settings(source: str, changed: Mapping[str, str]) -> str | NoEdit:
    """The source with other values of some of its module-level constants, each of which has one line there."""
    rows = source.split("\n")
    for name, line in changed.items():
        places = [i for i, row in enumerate(rows) if (known := _SETTING.fullmatch(row.rstrip())) and known[1] == name]
        if len(places) != 1:
            return NoEdit(f"{name} is no constant that one line of the candidate's source gives a value")
        rows[places[0]] = line
    return "\n".join(rows)


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
            first = next(line for line in old if line.strip()).strip()[:80]
            return NoEdit(f"the old lines of {what} {number} {found}; they begin with {first!r}")
        rows[places[0] : places[0] + len(old)] = new
    return "\n".join(rows)


def _places(rows: list[str], old: list[str]) -> list[int]:
    wanted = [line.rstrip() for line in old]
    stripped = [line.rstrip() for line in rows]
    starts = (i for i in range(len(rows) - len(wanted) + 1) if stripped[i] == wanted[0])
    return [i for i in starts if stripped[i : i + len(wanted)] == wanted]


class NoKernel(NamedTuple):
    """Why there is no kernel to judge: one sentence for the model."""

    reason: str


class Kernel(NamedTuple):
    """A kernel that can be judged."""

    candidate: Candidate


def empty(name: LanguageName) -> Candidate:
    """What stands for a reply without a kernel; the referee refuses it."""
    return Candidate(language=name, source="", entry=language(name).entry)


def defines_kernel(source: str, name: LanguageName) -> bool:
    """Whether a text seems to hold what the contract asks for."""
    return re.search(language(name).defines, source) is not None


def flaw(source: str) -> str:
    """Why a text cannot be read as Python, with the line; empty where it can."""
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "it is nested too deeply"
    return ""


def read(source: str, name: LanguageName) -> Kernel | NoKernel:
    """The kernel in a source."""
    source, asked = sound(source), language(name)
    if not defines_kernel(source, name):
        return NoKernel(f"it is not {asked.what}")
    written = language_of(source, asked.suffix)
    if written != asked:
        return NoKernel(f"it is {written.what}, and what was asked for is {asked.what}")
    try:
        return Kernel(parse_text(source, asked.targets[0], name))
    except UsageError as error:
        return NoKernel(str(error))


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
    # Constants alone, where the reply says nothing else; it may have been cut off within one.
    changed = settings(text.split("\n")) if how.python and how.parent and how.whole else None
    yield None if changed is None else _edited(apply_settings(how.parent, changed), how)
    yield from (_from_json(block.text, how) for block in fenced if block.tag == "json" or _is_json(block.text))
    yield _from_blocks(text, fenced, how)
    diffs = [b.text for b in fenced if is_diff(b.text)] or ([text] if not fenced and is_diff(text) else [])
    yield _edited(apply_diff(how.parent, diffs[-1]), how) if diffs else None
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


def _from_json(text: str, how: _Reading) -> Kernel | NoKernel | None:
    source = _field(text, how.whole)
    if source is None:
        return None
    if "\n" not in source.strip() and "\\n" in source:
        source = unescape(source)
    inner = _from_blocks(source, blocks(source), how)
    return inner if inner is not None else read(unescaped(unwrapped(source)), how.language)


def _field(text: str, whole: bool) -> str | None:
    for given in objects(text):
        for key in FIELDS:
            value = given.get(key)
            if isinstance(value, str) and value.strip():
                return value
    found = salvage(text, FIELDS)
    return found.text if found is not None and found.text.strip() and (found.closed or whole) else None


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
