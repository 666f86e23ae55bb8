"""A Triton module as a file: imports, the task's own source, the kernels with what launches them, and a drop-in `ModelNew`.

`ModelNew` inherits from the reference, so that its parameters are made alike, and calls it for whatever the kernels do not
cover. The author's kernels and Inductor's are written by it. Functions that kernels call stand in `parts/functions.py.txt`.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernelwright.errors import ProposeError
from kernelwright.export.reference import Reference, drop_in, merged_imports
from kernelwright.records.candidate import Tunable
from kernelwright.records.task import Task

IMPORTS = ("import os", "import torch", "import triton", "import triton.language as tl")
INTERPRETED = 'INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"'
MOST_WARPS = 16
_BLOCKS = (Path(__file__).parent / "parts" / "functions.py.txt").read_text(encoding="utf-8").split("#: ")[1:]
HELPERS = {name: text for name, _, text in (block.partition("\n") for block in _BLOCKS)}
"""Functions that Triton's language lacks, and of some launches, each before its use."""


def helpers_in(kernels: str) -> list[str]:
    """The functions that kernels mention, and those that these call."""
    needed, text = set[str](), kernels
    while found := (HELPERS.keys() & set(re.findall(r"\w+", text))) - needed:
        needed |= found
        text = "\n".join(HELPERS[name] for name in found)
    return [name for name in HELPERS if name in needed]


def triton_file(
    task: Task,
    found: Reference,
    idea: str,
    parts: Sequence[str],
    names: Iterable[str],
    imports: Sequence[str] = IMPORTS,
) -> str:
    """The file.

    Args:
        task: What it is for.
        found: The task's source, taken apart.
        idea: What the kernels do, in a few words behind the task's name.
        parts: Settings, helpers, kernels, `_run` and `_fits`, in this order; empty ones are left out.
        names: What the parts define, which the task's source must not. With `_made_at` they are for any sizes of axes.
        imports: What the parts import.

    Raises:
        ProposeError: the task's source has names that the file needs.
    """
    own = {"_run", "_fits", "ModelNew", *names}
    if clash := sorted(own & found.names):
        raise ProposeError(f"the task's source has names that the kernel's file needs: {', '.join(clash)}")
    head = "\n".join([f'"""{task.name}: {idea}"""', "", *merged_imports(imports, found.imports)])
    whole = [part.strip("\n") for part in (head, found.body, *parts, drop_in(task, found, "_made_at" in own))]
    return "\n\n\n".join(part for part in whole if part) + "\n"


def tunable_warps(warps: int) -> Tunable:
    """The schedule's warps, and twice as many."""
    return Tunable(name="WARPS", values=tuple(dict.fromkeys((warps, min(2 * warps, max(MOST_WARPS, warps))))))
