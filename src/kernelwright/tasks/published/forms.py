"""Forms of publishing kernels in files: one JSON file, the folder of a KernelBench run, a directory of tasks and kernels.

**One JSON file** has a line each, a list, or one object by name. Each entry says its task and its kernel, as texts or as paths
beside the file, under names that people use: `task`, `kernel` and `claimed speedup` are ours; `ref_code`, `custom_code` and
`score` are those of CUDA-L1's release.

**A KernelBench run** has `level_1_problem_19_sample_0_kernel.py`, and `eval_results.json` beside them. The problems themselves
are in a checkout, which must be named: `level1/19_*.py` below it. What a run claims is its own reference time by its own
kernel's, where it says both, or the speedup that it wrote down.

**A directory** has either `tasks/NAME.py` and `kernels/NAME.{py,cu,cpp}`, or side by side `NAME.py` and
`NAME.kernel.{py,cu,cpp}`, or files that hold both `Model` and `ModelNew`. What was claimed stands in `claims.json` by name, or
in a comment of the kernel: `# claimed: 2.1x`.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import TaskError, UsageError
from kernelwright.languages import suffixes
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.files import LIMIT_BYTES, read_text, read_within

REFERENCE = ("task", "ref_code", "reference", "reference_code", "pytorch_code", "pytorch_module")
KERNEL = ("kernel", "custom_code", "kernel_code", "code", "triton_code", "cuda_code")
CLAIMED = ("claimed speedup", "claimed_speedup", "claimed", "score", "score_default", "speedup")
NAMES = ("name", "id", "op_name")
NUMBERED = ("level_id", "level", "task_id", "problem_id")
"""Fields that number an entry, where none names it."""
MOST_CLAIMED = 1e6
"""A larger claim counts as this one: no page has room for it."""
MOST_BYTES = 1 << 30
SUFFIXES = (".json", ".jsonl", ".ndjson")
Entry = dict[str, object]


def parse_speedup(value: object) -> float | None:
    """A claim as a number: `2.1`, `"2.1x"`; None for what is none."""
    text = str(value).strip().rstrip("xX×") if isinstance(value, int | float | str) else ""
    try:
        number = float(text)
    except ValueError:
        return None
    return min(number, MOST_CLAIMED) if math.isfinite(number) and number > 0 else None


# --- one JSON file ------------------------------------------------------------------------------------------------


def is_entry_file(path: Path) -> bool:
    """Whether this is one JSON file."""
    return path.is_file() and path.suffix in SUFFIXES


def read_entries(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every entry that has a task; one without a kernel says so.

    Raises:
        UsageError: the file is no JSON, or no entry names a task.
        TaskError: it cannot be read.
    """
    found = [_from_entry(path, tasks or path.parent, where, entry) for where, entry in _entries(path)]
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


def _from_entry(path: Path, beside: Path, where: str, entry: Entry) -> PublishedKernel | None:
    why, given = "", entry.get("suffix")
    reference = kernel = None
    try:
        reference = _source(beside, _first(entry, REFERENCE))
        kernel = _source(path.parent, _first(entry, KERNEL))
    except TaskError as error:
        why = str(error)
    if reference is None and not why:
        return None
    text, suffix = kernel or ("", "")
    return PublishedKernel(
        name=_name(entry, where),
        origin=where,
        reference=reference[0] if reference else "",
        kernel=text,
        suffix=suffix or (given if isinstance(given, str) and given.startswith(".") else ".py"),
        claimed=parse_speedup(_first(entry, CLAIMED)),
        missing=why or ("" if kernel else "no kernel was published for this task"),
    )


def _source(folder: Path, value: object) -> tuple[str, str] | None:
    """A text with the ending of its file; a value that names a file beside the list stands for what is in it."""
    if not isinstance(value, str) or not value.strip():
        return None
    if "\n" in value or len(value) > 400:
        return value, ""
    file = folder / value
    return (read_within(folder, file, "source"), file.suffix) if file.is_file() else (value, "")


def _name(entry: Entry, where: str) -> str:
    if (named := _first(entry, NAMES)) is not None:
        return str(named)[:200]
    numbers = [f"{key.removesuffix('_id')} {entry[key]}" for key in NUMBERED if isinstance(entry.get(key), int | str)]
    return ", ".join(numbers)[:200] or where.rsplit("/", 1)[-1]


def _first(entry: Entry, names: tuple[str, ...]) -> object:
    return next((entry[name] for name in names if entry.get(name) is not None), None)


# --- the folder of a KernelBench run ------------------------------------------------------------------------------

_RUN_KERNEL = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")


def is_run(path: Path) -> bool:
    """Whether kernels of such names lie here."""
    return path.is_dir() and next(_run_kernels(path), None) is not None


def read_run(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every kernel of the run.

    Raises:
        UsageError: no checkout was named, or it has not the problems.
        TaskError: a file cannot be read.
    """
    if tasks is None:
        raise UsageError(f"{path} is a KernelBench run, whose problems lie elsewhere: name a checkout with --tasks DIR")
    claims = _run_claims(path / "eval_results.json")
    found = []
    for file, level, problem, sample in sorted(_run_kernels(path), key=lambda each: each[1:]):
        folders = (tasks / f"level{level}", tasks / "KernelBench" / f"level{level}")
        task = next((file for folder in folders for file in sorted(folder.glob(f"{problem}_*.py"))), None)
        kernel, reference, why = _both((path, file), (tasks, task))
        found.append(
            PublishedKernel(
                name=f"level {level}, problem {problem}" + (f", sample {sample}" if sample else ""),
                origin=file.name,
                reference=reference,
                kernel=kernel,
                claimed=claims.get((problem, sample)),
                missing=why or ("" if task else f"{tasks} has no problem level{level}/{problem}_*.py"),
            )
        )
    if not any(one.reference for one in found):
        raise UsageError(f"{tasks} has none of the run's problems: name the folder that holds level1, level2, …")
    return found


def _run_kernels(path: Path) -> Iterator[tuple[Path, int, int, int]]:
    for file in path.rglob("*_kernel.py"):
        if match := _RUN_KERNEL.fullmatch(file.name):
            level, problem, sample = (int(number) for number in match.groups())
            yield file, level, problem, sample


def _run_claims(file: Path) -> dict[tuple[int, int], float]:
    """By problem and sample, what the run itself wrote down; nothing where it is not legible."""
    if not file.is_file():
        return {}
    try:
        listed = json.loads(read_within(file.parent, file, "results"))
    except (ValueError, RecursionError):
        return {}
    found: dict[tuple[int, int], float] = {}
    for problem, entry in listed.items() if isinstance(listed, dict) else ():
        samples = entry if isinstance(entry, list) else [entry]
        for number, one in enumerate(sample for sample in samples if isinstance(sample, dict)):
            ours, theirs = parse_speedup(one.get("runtime")), parse_speedup(one.get("ref_runtime"))
            claim = parse_speedup(one.get("speedup")) or (parse_speedup(theirs / ours) if ours and theirs else None)
            if claim and str(problem).isdigit():
                at = one.get("sample_id", number)
                found[int(problem), at if isinstance(at, int) else number] = claim
    return found


# --- a directory of tasks and kernels of equal names ---------------------------------------------------------------

_CLAIM = re.compile(r"^\s*(?:#|//)[ \t]*claimed(?:[ \t]+speedup)?[ \t]*:[ \t]*([\d.]+)", re.MULTILINE)
_BOTH = re.compile(r"^class[ \t]+Model\b.*^(?:class[ \t]+ModelNew\b|ModelNew[ \t]*=)", re.MULTILINE | re.DOTALL)


def read_pairs(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every pair; a task without a kernel is left out, a kernel without a task says so.

    Raises:
        UsageError: `claims.json` is no object of numbers.
        TaskError: a file cannot be read.
    """
    claims = _claims(path / "claims.json")
    found = [_from_pair((path, tasks or path), kernel, task, claims) for kernel, task in _pairs(path, tasks)]
    return sorted(found, key=lambda one: one.name)


def _pairs(path: Path, tasks: Path | None) -> Iterator[tuple[Path, Path | None]]:
    """Kernels with their tasks."""
    kernels = path / "kernels" if (path / "kernels").is_dir() else path
    folder = tasks or (path / "tasks" if (path / "tasks").is_dir() else path)
    for file in sorted(f for f in kernels.rglob("*") if f.suffix in suffixes() and f.is_file()):
        relative = file.relative_to(kernels)
        if any(part.startswith((".", "__")) for part in relative.parts):
            continue
        stem = relative.with_name(relative.stem.removesuffix(".kernel"))
        task = folder / stem.with_name(f"{stem.name}.py")
        if kernels != folder or relative.stem.endswith(".kernel"):
            yield file, task if task.is_file() else None
        elif file.suffix == ".py" and _BOTH.search(_legible(path, file, "kernel")[0]):
            yield file, file


def _both(kernel: tuple[Path, Path], task: tuple[Path, Path | None]) -> tuple[str, str, str]:
    """A kernel's text, its task's, each from its folder, and why one of them is not to be had."""
    text, why = _legible(*kernel, "kernel")
    reference, why_not = _legible(task[0], task[1], "task") if task[1] else ("", "")
    return text, reference, why or why_not


def _legible(folder: Path, file: Path, what: str) -> tuple[str, str]:
    """A text, or why there is none: one file that cannot be read stops none of the others."""
    try:
        return read_within(folder, file, what), ""
    except TaskError as error:
        return "", str(error)


def _from_pair(
    folders: tuple[Path, Path], kernel: Path, task: Path | None, claims: dict[str, float | None]
) -> PublishedKernel:
    name = kernel.stem.removesuffix(".kernel")
    text, reference, why = _both((folders[0], kernel), (folders[1], task))
    said = _CLAIM.search(text)
    return PublishedKernel(
        name=name,
        origin=str(kernel.relative_to(folders[0])),
        reference=reference,
        kernel=text,
        suffix=kernel.suffix,
        claimed=claims.get(name) or (parse_speedup(said[1]) if said else None),
        missing=why or ("" if task else f"there is no task {name}.py for it"),
    )


def _claims(file: Path) -> dict[str, float | None]:
    if not file.is_file():
        return {}
    try:
        listed = json.loads(read_within(file.parent, file, "list of claims"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no JSON ({error}): write an object from names to speedups") from None
    if not isinstance(listed, dict):
        raise UsageError(f'{file} must be an object from names to speedups, such as {{"softmax": 2.1}}')
    return {name: parse_speedup(value) for name, value in listed.items()}
