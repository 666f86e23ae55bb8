"""A kernel out of a model's reply, whatever it looks like.

Decides which block is meant, and when an edit, a JSON field or unfenced text is taken for the source. A reply without
a usable kernel is a value with its reason, which the model is told. Nothing is run.
"""

import re
from dataclasses import dataclass

from kernelwright.propose.llm.blocks import Block, blocks, cleaned, unescaped
from kernelwright.propose.llm.edits import NoEdit, apply_diff, apply_edits, has_edits, is_diff
from kernelwright.propose.llm.kernel_text import WHAT, Kernel, NoKernel, defines_kernel, read
from kernelwright.propose.llm.loose_json import objects, salvage, unescape
from kernelwright.records.candidate import Language
from kernelwright.records.chat import ChatReply

LONGEST = 400_000
"""Characters of a reply that are read."""
REFUSED = "it was refused; writing this kernel is an ordinary engineering task"
FIELDS = ("code", "kernel", "source", "kernel_code", "new_code", "solution")
"""Names under which models put a source into JSON."""
_TAGS: dict[Language, frozenset[str]] = {
    "cpp": frozenset(("cpp", "c++", "cc", "cxx", "c")),
    "triton": frozenset(("python", "py", "python3", "triton")),
    "python": frozenset(("python", "py", "python3")),
    "cuda": frozenset(("cuda", "cu", "cpp", "c++")),
    "cuda_host": frozenset(("cuda", "cu", "cpp", "c++")),
}
_FIRST = {
    True: re.compile(r"^(?:import |from |@|class |def |#|\"\"\")", re.MULTILINE),
    False: re.compile(
        r"^(?:#|//|/\*|extern|static|template|using|namespace|constexpr|inline|__global__)", re.MULTILINE
    ),
}
_LAST = {
    True: re.compile(r"^(?:[ \t]+\S.*|[)\]}].*|[A-Za-z_][\w.]*[ \t]*(?:=|\().*)$", re.MULTILINE),
    False: re.compile(r"^.*(?:\}|;|#endif).*$", re.MULTILINE),
}


@dataclass(frozen=True)
class _Reading:
    """How a reply is read."""

    language: Language
    parent: str
    """What edits are applied to."""
    whole: bool
    """The reply was not cut off: what is left open at its end is meant to be there."""

    @property
    def python(self) -> bool:
        return self.language in ("triton", "python")


def parse(reply: ChatReply, language: Language, parent: str = "") -> Kernel | NoKernel:
    """The kernel in a reply; `parent` is the source that edits are applied to."""
    text = cleaned(reply.text[:LONGEST])
    if not text.strip():
        return NoKernel(_nothing(reply))
    found = _found(text, _Reading(language, parent, reply.finish != "length"))
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
    if has_edits(text):
        return _edited(apply_edits(how.parent, text), how)
    fenced = [block for block in blocks(text) if block.closed or how.whole]
    held = _from_json(text, fenced, how) or _from_blocks(fenced, how) or _from_diff(text, fenced, how)
    return held or _unfenced(text, how)


def _edited(source: str | NoEdit, how: _Reading) -> Kernel | NoKernel:
    if isinstance(source, NoEdit):
        return NoKernel(f"its edit does not apply: {source.reason}; reply with the whole source")
    return read(source, how.language)


def _from_blocks(fenced: list[Block], how: _Reading) -> Kernel | NoKernel | None:
    """The last whole block that holds a kernel; parts of a module together, where no block is whole."""
    tags = _TAGS[how.language]
    likely = [b for b in fenced if not is_diff(b.text) and b.tag != "diff"]
    holding = [b for b in likely if defines_kernel(b.text, how.language)]
    if not holding:
        return None
    holding.sort(key=lambda block: (block.closed, block.tag in tags or not block.tag))
    chosen = holding[-1].text
    if _partial(chosen, how):
        joined = "\n".join(b.text for b in likely if b.tag in tags)
        chosen = joined if defines_kernel(joined, how.language) and not _partial(joined, how) else chosen
    return read(chosen, how.language)


def _partial(source: str, how: _Reading) -> bool:
    """A module without its imports is the rest of another block."""
    return how.python and re.search(r"^(?:import|from) ", source, re.MULTILINE) is None


def _from_diff(text: str, fenced: list[Block], how: _Reading) -> Kernel | NoKernel | None:
    diffs = [b.text for b in fenced if is_diff(b.text)] or ([text] if not fenced and is_diff(text) else [])
    return _edited(apply_diff(how.parent, diffs[-1]), how) if diffs else None


def _from_json(text: str, fenced: list[Block], how: _Reading) -> Kernel | NoKernel | None:
    bodies = [b.text for b in fenced if b.tag == "json"]
    if text.lstrip().startswith(("{", "[")):
        bodies.append(text)
    fields = (source for body in bodies if (source := _field(body, how.whole)) is not None)
    source = next(fields, None)
    return _from_field(source, how) if source is not None else None


def _from_field(source: str, how: _Reading) -> Kernel | NoKernel:
    if "\n" not in source.strip() and "\\n" in source:
        source = unescape(source)
    inner = _from_blocks(blocks(source), how)
    return inner if inner is not None else read(unescaped(source), how.language)


def _field(text: str, whole: bool) -> str | None:
    for found in objects(text):
        for key in FIELDS:
            value = found.get(key)
            if isinstance(value, str) and value.strip():
                return value
    held = salvage(text, FIELDS)
    return held.text if held is not None and held.text.strip() and (held.closed or whole) else None


def _unfenced(text: str, how: _Reading) -> Kernel | NoKernel:
    if not how.whole or not defines_kernel(text, how.language):
        return NoKernel(f"it holds no kernel; expected is {WHAT[how.language]} in one fenced block")
    first = _FIRST[how.python].search(text)
    lasts = list(_LAST[how.python].finditer(text))
    source = text[first.start() if first else 0 : lasts[-1].end() if lasts else len(text)]
    return read(unescaped(source).rstrip().removesuffix("```").rstrip() + "\n", how.language)
