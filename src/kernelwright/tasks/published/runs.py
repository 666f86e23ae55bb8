"""The kernels of a KernelBench run: `level_1_problem_19_sample_0_kernel.py`, and `eval_results.json` beside them.

The problems themselves are in a checkout of KernelBench, which must be named: `level1/19_*.py` below it. What a run claims is
its own reference time by its own kernel's, where it says both, or the speedup that it wrote down.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import UsageError
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.files import read_text
from kernelwright.tasks.published.lines import claimed_by

RESULTS = "eval_results.json"
_KERNEL = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")
Claims = dict[tuple[int, int], float]
"""By problem and sample."""


def is_it(path: Path) -> bool:
    """Whether kernels of such names lie here."""
    return path.is_dir() and next(_kernels(path), None) is not None


def read(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every kernel of the run.

    Raises:
        UsageError: no checkout was named, or it has not the problems.
        TaskError: a file cannot be read.
    """
    if tasks is None:
        raise UsageError(f"{path} is a KernelBench run, whose problems lie elsewhere: name a checkout with --tasks DIR")
    claims = _claims(path / RESULTS)
    found = []
    for file, level, problem, sample in sorted(_kernels(path), key=lambda each: each[1:]):
        task = _problem(tasks, level, problem)
        found.append(
            PublishedKernel(
                name=f"level {level}, problem {problem}, sample {sample}"
                if sample
                else f"level {level}, problem {problem}",
                origin=file.name,
                reference=read_text(task, "task") if task else "",
                kernel=read_text(file, "kernel"),
                claimed=claims.get((problem, sample)),
                missing="" if task else f"{tasks} has no problem level{level}/{problem}_*.py",
            )
        )
    if all(one.missing for one in found):
        raise UsageError(f"{tasks} has none of the run's problems: name the folder that holds level1, level2, …")
    return found


def _kernels(path: Path) -> Iterator[tuple[Path, int, int, int]]:
    for file in path.rglob("*_kernel.py"):
        if match := _KERNEL.fullmatch(file.name):
            level, problem, sample = (int(number) for number in match.groups())
            yield file, level, problem, sample


def _problem(tasks: Path, level: int, problem: int) -> Path | None:
    for folder in (tasks / f"level{level}", tasks / "KernelBench" / f"level{level}"):
        if found := sorted(folder.glob(f"{problem}_*.py")):
            return found[0]
    return None


def _claims(file: Path) -> Claims:
    """What the run itself wrote down; nothing where it is not legible."""
    if not file.is_file():
        return {}
    try:
        listed = json.loads(read_text(file, "results"))
    except (ValueError, RecursionError):
        return {}
    found: Claims = {}
    for problem, told in listed.items() if isinstance(listed, dict) else ():
        samples = told if isinstance(told, list) else [told]
        for number, one in enumerate(sample for sample in samples if isinstance(sample, dict)):
            claim = _claim(one)
            if claim and str(problem).isdigit():
                at = one.get("sample_id", number)
                found[int(problem), at if isinstance(at, int) else number] = claim
    return found


def _claim(told: dict[str, object]) -> float | None:
    said = claimed_by(told.get("speedup"))
    ours, theirs = claimed_by(told.get("runtime")), claimed_by(told.get("ref_runtime"))
    return said or (theirs / ours if ours and theirs else None)
