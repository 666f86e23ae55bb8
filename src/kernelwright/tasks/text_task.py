"""Reader of text tasks: a sentence, a reference, the host code around it and hardware limits, in TOML or markdown.

A reference is required, because nothing could be judged without one. Unknown keys are errors, because a key that is
ignored could be a limit that somebody relies on. Everything in such a file is data: limits only tighten what the
referee allows, and the words are for proposers. Nothing is run.
"""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import TaskError
from kernelwright.pages import page
from kernelwright.records.base import first_fault
from kernelwright.records.task import WORDS, TaskLimits, TaskSource
from kernelwright.tasks.files import at_size, read_text, read_within, split_size
from kernelwright.tasks.kernelbench import parse_kernelbench

SECTIONS = ("Reference", "Host context", "Limits")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[^`\n]*$")
_SECTION = re.compile(r"^(#{1,2})[ \t]+(.*?)[ \t]*#*$")
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
        elif (heading := _SECTION.match(line)) and (len(heading[1]) == 2 or not current):
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


_KEYS = ("description", "reference", "host", "limits")
_FILE = re.compile(r"^[\w./@+-]+\.(?:py|cu|cuh|cpp|cc|c|h|hpp|txt)(?:@\w+)?$")
_HEADING = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_HOW = (
    'add one: a Python source with `Model` and `get_inputs` ({}), in TOML as `reference = "FILE.py"` or as the '
    "text itself, in markdown as a python block under `## Reference`"
)


class _Parts(NamedTuple):
    description: str
    reference: str
    """The source, or the name of a file."""
    host: str
    limits: object


def read_text_task(path: Path) -> TaskSource:
    """The task in a `.toml` or `.md` file, not yet run.

    Raises:
        TaskError: it cannot be read, has no reference, or says something that it may not.
    """
    file, size = sized = split_size(path)
    where = f"task {str(path)!r}"
    parts = _READ[file.suffix](read_text(file, "task"), where)
    if not parts.reference.strip():
        raise TaskError(f"{where} has no reference, so that no kernel could be judged: {_HOW.format(page('task.md'))}")
    if _HEADING.search(parts.description):
        raise TaskError(
            f"{where}: a line of its description begins with '#': headings divide prompts, write it without"
        )
    reference = _beside(parts.reference, file, where)
    source = parse_kernelbench(at_size(reference, size, file) if size else reference, sized.name, path)
    words = {"description": parts.description.strip(), "host": _beside(parts.host, file, where)}
    for name, text in words.items():
        if len(text) > WORDS:
            raise TaskError(f"{where}: its {name} has {len(text)} characters, at most {WORDS} are read: shorten it")
    return source.model_copy(update={"format": "text", **words, "limits": read_limits(parts.limits, where)})


def _toml(text: str, where: str) -> _Parts:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TaskError(f"{where} is no TOML: {error}") from None
    if "description" not in table and "reference" not in table:
        raise TaskError(f"{where} has neither a description nor a reference: {_HOW.format(page('task.md'))}", "no_task")
    unknown = sorted(table.keys() - set(_KEYS))
    if unknown:
        raise TaskError(f"{where} has the unknown key {unknown[0]!r}: there may be {', '.join(_KEYS)}")
    words = {}
    for name in _KEYS[:3]:
        words[name] = table.get(name, "")
        if not isinstance(words[name], str):
            raise TaskError(f"{where}: {name} must be a text in quotes, not {words[name]!r:.80}")
    return _Parts(**words, limits=table.get("limits", {}))


def _markdown(text: str, where: str) -> _Parts:
    if not re.search(r"(?im)^##[ \t]+(?:reference|host context|limits)[ \t]*#*$", text):
        raise TaskError(f"{where} has no reference: {_HOW.format(page('task.md'))}", "no_task")
    found = sections_of(text, where)
    description = "\n\n".join(f"```\n{b.text}```" if b.code else b.text for b in found[""])
    reference, host = (_only(found.get(name, []), name, where) for name in ("Reference", "Host context"))
    return _Parts(description, reference, host, limits_of(found.get("Limits", []), where))


_READ = {".toml": _toml, ".md": _markdown}


def _only(blocks: list[Block], section: str, where: str) -> str:
    """The one code block of a section, or the file that its prose names."""
    codes = [block.text for block in blocks if block.code]
    if len(codes) > 1:
        raise TaskError(f"{where}: the section {section!r} has {len(codes)} code blocks: put them into one")
    if codes:
        return codes[0]
    prose = " ".join(block.text for block in blocks).strip("` \t")
    if prose and not _FILE.match(prose):
        raise TaskError(
            f"{where}: the section {section!r} must be one code block, or the name of a file beside the task"
        )
    return prose


def _beside(text: str, file: Path, where: str) -> str:
    """A text, or what the file that it names holds: one in the task's folder, so that no task has others' files read."""
    name = text.strip()
    if not _FILE.match(name):
        return text
    named, size = split_size(file.parent.resolve() / name)
    found = read_within(file.parent, named, f"{where} names the file")
    return at_size(found, size, named) if size else found


def read_limits(table: object, where: str) -> TaskLimits:
    """The limits that a task's text gives.

    Raises:
        TaskError: one of them is unknown, or has a value that it cannot have.
    """
    if not isinstance(table, dict):
        raise TaskError(f"{where}: limits must be a table such as [limits] with shared_bytes = 49152")
    try:
        return TaskLimits.model_validate(table)
    except ValidationError as error:
        name, fault = first_fault(error)
        raise TaskError(
            f"{where}: the limit {name!r} cannot be taken ({fault}): there are {', '.join(TaskLimits.model_fields)}; "
            "what else a proposer should know goes into notes"
        ) from None
