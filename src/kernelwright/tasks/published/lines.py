"""Kernels in one JSON file: a line each, a list, or one object by name.

Each says its task and its kernel, as texts or as paths beside the file, under names that people use:
`task`, `kernel` and `claimed speedup` are ours; `ref_code`, `custom_code` and `score` are those of CUDA-L1's release.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import TaskError, UsageError
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.files import LIMIT_BYTES, read_text

REFERENCE = ("task", "ref_code", "reference", "reference_code", "pytorch_code", "pytorch_module")
KERNEL = ("kernel", "custom_code", "kernel_code", "code", "triton_code", "cuda_code")
CLAIMED = ("claimed speedup", "claimed_speedup", "claimed", "score", "score_default", "speedup")
NAMES = ("name", "id", "op_name")
NUMBERED = ("level_id", "level", "task_id", "problem_id")
"""Fields that number an entry, where none names it."""
MOST_BYTES = 1 << 30
SUFFIXES = (".json", ".jsonl", ".ndjson")
Entry = dict[str, object]


def is_it(path: Path) -> bool:
    """Whether this is one JSON file."""
    return path.is_file() and path.suffix in SUFFIXES


def read(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every entry that has a task; one without a kernel says so.

    Raises:
        UsageError: the file is no JSON, or no entry names a task.
        TaskError: it cannot be read.
    """
    found = [_published(path, tasks or path.parent, where, entry) for where, entry in _entries(path)]
    if not any(found):
        raise UsageError(
            f"no entry of {str(path)!r} has a task and a kernel: call them {REFERENCE[0]!r} and {KERNEL[0]!r}, "
            f"or {REFERENCE[1]!r} and {KERNEL[1]!r}"
        )
    return [one for one in found if one is not None]


def _entries(path: Path) -> Iterator[tuple[str, Entry]]:
    text = _text(path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(path, text)
        return
    if isinstance(whole, dict) and not _first(whole, REFERENCE):
        listed = [(name, value) for name, value in whole.items() if isinstance(value, dict)]
        yield from ((f"{path} {name}", {"name": name, **value}) for name, value in listed)
        return
    for number, entry in enumerate(whole if isinstance(whole, list) else [whole], 1):
        if isinstance(entry, dict):
            yield f"{path} entry {number}", entry


def _lines(path: Path, text: str) -> Iterator[tuple[str, Entry]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise UsageError(f"{path}, line {number} is no JSON: one object a line, or one list") from None
        if isinstance(entry, dict):
            yield f"{path}:{number}", entry


def _text(path: Path) -> str:
    """Releases are larger than sources."""
    if path.stat().st_size <= LIMIT_BYTES:
        return read_text(path, "list of kernels")
    if path.stat().st_size > MOST_BYTES:
        raise TaskError(f"list of kernels {str(path)!r} is longer than {MOST_BYTES >> 20} MiB: split it")
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"list of kernels {str(path)!r} cannot be read: {error}") from None


def _published(path: Path, beside: Path, where: str, entry: Entry) -> PublishedKernel | None:
    reference = _source(beside, _first(entry, REFERENCE))
    if reference is None:
        return None
    kernel = _source(path.parent, _first(entry, KERNEL))
    return PublishedKernel(
        name=_name(entry, where),
        origin=where,
        reference=reference[0],
        kernel=kernel[0] if kernel else "",
        suffix=_suffix(entry, kernel[1] if kernel else ""),
        claimed=claimed_by(_first(entry, CLAIMED)),
        missing="" if kernel else "no kernel was published for this task",
    )


def _source(folder: Path, value: object) -> tuple[str, str] | None:
    """A text with the ending of its file; a value that names a file beside the list stands for what is in it."""
    if not isinstance(value, str) or not value.strip():
        return None
    if "\n" in value or len(value) > 400:
        return value, ""
    file = folder / value
    return (read_text(file, "source"), file.suffix) if file.is_file() else (value, "")


def _suffix(entry: Entry, read_from: str) -> str:
    given = entry.get("suffix")
    return read_from or (given if isinstance(given, str) and given.startswith(".") else ".py")


def _name(entry: Entry, where: str) -> str:
    if (named := _first(entry, NAMES)) is not None:
        return str(named)[:200]
    numbers = [f"{key.removesuffix('_id')} {entry[key]}" for key in NUMBERED if isinstance(entry.get(key), int | str)]
    return ", ".join(numbers)[:200] or where.rsplit("/", 1)[-1]


def claimed_by(value: object) -> float | None:
    """A claim as a number: `2.1`, `"2.1x"`; None for what is none."""
    text = str(value).strip().rstrip("xX×") if isinstance(value, int | float | str) else ""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None


def _first(entry: Entry, names: tuple[str, ...]) -> object:
    return next((entry[name] for name in names if entry.get(name) is not None), None)
