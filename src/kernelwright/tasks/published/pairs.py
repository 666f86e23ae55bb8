"""A directory of tasks and kernels of equal names.

Either `tasks/NAME.py` and `kernels/NAME.{py,cu,cpp}`, or side by side `NAME.py` and `NAME.kernel.{py,cu,cpp}`, or files
that hold both `Model` and `ModelNew`. What was claimed stands in `claims.json` by name, or in a comment of the kernel:
`# claimed: 2.1x`.
"""

import json
import re
from pathlib import Path

from kernelwright.errors import UsageError
from kernelwright.languages import suffixes
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.files import read_text
from kernelwright.tasks.published.lines import claimed_by

CLAIMS = "claims.json"
_CLAIM = re.compile(r"^\s*(?:#|//)[ \t]*claimed(?:[ \t]+speedup)?[ \t]*:[ \t]*([\d.]+)", re.MULTILINE)
_BOTH = re.compile(r"^class[ \t]+Model\b.*^(?:class[ \t]+ModelNew\b|ModelNew[ \t]*=)", re.MULTILINE | re.DOTALL)


def is_it(path: Path) -> bool:
    """Whether it is a directory."""
    return path.is_dir()


def read(path: Path, tasks: Path | None) -> list[PublishedKernel]:
    """Every pair; a task without a kernel is left out, a kernel without a task says so.

    Raises:
        UsageError: `claims.json` is no object of numbers.
        TaskError: a file cannot be read.
    """
    claims = _claims(path / CLAIMS)
    found = [_published(path, kernel, task, claims) for kernel, task in _pairs(path, tasks)]
    return sorted(found, key=lambda one: one.name)


def _pairs(path: Path, tasks: Path | None) -> list[tuple[Path, Path | None]]:
    """Kernels with their tasks."""
    kernels = path / "kernels" if (path / "kernels").is_dir() else path
    folder = tasks or (path / "tasks" if (path / "tasks").is_dir() else path)
    files = sorted(f for f in kernels.rglob("*") if f.suffix in suffixes() and f.is_file() and not _hidden(f, kernels))
    apart = kernels != folder
    found: list[tuple[Path, Path | None]] = []
    for file in files:
        relative = file.relative_to(kernels)
        stem = relative.with_name(relative.stem.removesuffix(".kernel"))
        task = folder / stem.with_name(f"{stem.name}.py")
        if apart or relative.stem.endswith(".kernel"):
            found.append((file, task if task.is_file() else None))
        elif file.suffix == ".py" and _BOTH.search(read_text(file, "kernel")):
            found.append((file, file))
    return found


def _hidden(file: Path, below: Path) -> bool:
    return any(part.startswith((".", "__")) for part in file.relative_to(below).parts)


def _published(path: Path, kernel: Path, task: Path | None, claims: dict[str, float | None]) -> PublishedKernel:
    name, text = kernel.stem.removesuffix(".kernel"), read_text(kernel, "kernel")
    said = _CLAIM.search(text)
    return PublishedKernel(
        name=name,
        origin=str(kernel.relative_to(path)),
        reference=read_text(task, "task") if task else "",
        kernel=text,
        suffix=kernel.suffix,
        claimed=claims.get(name) or (claimed_by(said[1]) if said else None),
        missing="" if task else f"there is no task {name}.py for it",
    )


def _claims(file: Path) -> dict[str, float | None]:
    if not file.is_file():
        return {}
    try:
        listed = json.loads(read_text(file, "list of claims"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no JSON ({error}): write an object from names to speedups") from None
    if not isinstance(listed, dict):
        raise UsageError(f'{file} must be an object from names to speedups, such as {{"softmax": 2.1}}')
    return {name: claimed_by(value) for name, value in listed.items()}
