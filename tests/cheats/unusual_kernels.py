"""Honest kernels of unusual build, by subject, in the files of `unusual`: known algorithms that other libraries use, retyped.

A file has sections, each a task in a sentence and kernels for it: `// takes x; computes x.sum(1); from torch.randn(64, 100)`,
after which may stand `; with` statements of the constructor, `; under` statements of the module, and `; flags` for the
compiler; `; then` parts statements, and a line that begins with three spaces goes on. What stands before the first
section belongs to all of them. In C++ and in CUDA C++, which runs on the host (`benchmarks/cuda_on_cpu.hpp`), each
`extern "C"` function is a kernel, in Triton each class.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.candidate import Candidate
from kernelwright.records.task import TaskSource
from text_tasks import TextTask

FOLDER = Path(__file__).parent / "unusual"
ON_HOST = Path(__file__).parents[2] / "benchmarks" / "cuda_on_cpu.hpp"
SENTENCE = re.compile(
    r"(?P<takes>.+?); computes (?P<computes>.+?); from (?P<inputs>.+?)"
    r"(?:; with (?P<init>.+?))?(?:; under (?P<head>.+?))?(?:; flags (?P<flags>.+?))?"
)
SECTION = re.compile(r"^(?://|#) takes ((?:.+\n)(?:(?://|#)   .+\n)*)", re.MULTILINE)
WORKSPACE = r"// workspace: (\d+)\nextern \"C\" void {}\("
MADE = {".py": re.compile(r"^class (\w+)\(", re.MULTILINE)}
ENTRY = re.compile(r'^extern "C" void (\w+)\(', re.MULTILINE)


class Unusual(NamedTuple):
    """One kernel and its task."""

    name: str
    task: TaskSource
    candidate: Candidate


def kernels(ending: str) -> Iterator[Unusual]:
    """All kernels of the files with this ending: `.cpp`, `.cu` or `.py`."""
    for path in sorted(FOLDER.glob(f"*{ending}")):
        shared, *parts = SECTION.split(path.read_text())
        for number, (sentence, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
            yield from _of_section(path, f"{path.stem}_{number}", sentence, shared + text)


def _of_section(path: Path, task: str, sentence: str, text: str) -> Iterator[Unusual]:
    """The kernels of one task."""
    found = SENTENCE.fullmatch(re.sub(r" *; +", "; ", re.sub(r"\n(//|#) +", " ", sentence)).strip())
    assert found, f"{path.name}: no task is in: {sentence}"
    said = {name: value.replace("; then ", "\n") for name, value in found.groupdict(default="").items()}
    flags = tuple(said.pop("flags").split())
    source = TextTask(said["takes"], said["computes"], said["inputs"], said["init"], said["head"]).source(task)
    for name in MADE.get(path.suffix, ENTRY).findall(text):
        yield Unusual(f"{path.stem}/{name}", source, _candidate(path.suffix, text, name, flags))


def _candidate(ending: str, text: str, name: str, flags: tuple[str, ...]) -> Candidate:
    if ending == ".py":
        return Candidate(language="triton", source=f"{text}\n\nModelNew = {name}\n")
    head = ON_HOST if ending == ".cu" else FOLDER.parent / "honest" / "prelude.h"
    space = re.search(WORKSPACE.format(name), text)
    source, bytes_ = head.read_text() + text, int(space[1]) if space else 0
    return Candidate(language="cpp", source=source, entry=name, flags=flags, workspace_bytes=bytes_)
