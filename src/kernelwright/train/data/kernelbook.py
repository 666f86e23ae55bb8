"""Reader of local files in KernelBook's format: JSON lines or parquet, a module's `python_code` and its `triton_code`.

The module's class bears any name, and `get_init_inputs` gives positional and named arguments. Both texts become what the
referee takes: `Model` and `ModelNew` without arguments. Changed APIs are migrated; nothing is run here.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task, TaskSource
from kernelwright.train.data.collect import Pair
from kernelwright.train.data.migrate import Migrated, migrate

FIELDS = ("python_code", "triton_code")


class Arguments(NamedTuple):
    """What a module is made with, as texts."""

    positional: tuple[str, ...]
    named: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """As they stand in a call."""
        return ", ".join([*self.positional, *(f"{name}={value}" for name, value in self.named)])


def read_kernelbook(file: Path) -> Iterator[Pair]:
    """A pair for each row that can be one; others are passed over.

    Raises:
        UsageError: the file cannot be read, has not these columns, or parquet is not installed.
    """
    for number, row in enumerate(_rows(file)):
        pair = _pair(number, row)
        if pair is not None:
            yield pair


def _rows(file: Path) -> Iterator[Mapping[str, object]]:
    try:
        if file.suffix == ".parquet":
            yield from _parquet(file)
            return
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                yield _checked(file, json.loads(line))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{file} is neither JSON lines nor parquet that can be read ({error})") from None


def _parquet(file: Path) -> Iterator[Mapping[str, object]]:
    try:
        from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415  an extra's part
    except ModuleNotFoundError:
        raise UsageError(f"{file}: parquet needs the package pyarrow: pip install 'kernelwright[train]'") from None
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=256, columns=list(FIELDS)):
            yield from (_checked(file, row) for row in batch.to_pylist())
    except ArrowInvalid as error:
        raise UsageError(f"{file} is no parquet file ({error})") from None


def _checked(file: Path, row: object) -> Mapping[str, object]:
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in FIELDS):
        raise UsageError(f"{file}: each row must have the texts {' and '.join(FIELDS)}")
    return row


def _pair(number: int, row: Mapping[str, object]) -> Pair | None:
    python, triton = (str(row[name]) for name in FIELDS)
    entry = _entry(python, triton)
    arguments = _arguments(python) if entry else None
    if entry is None or arguments is None:
        return None
    source = TaskSource(
        name=f"{entry.lower()}_{number}", format="kernelbench", source=_as_task(python, entry, arguments)
    )
    kernel = migrate(triton)

    async def written(task: Task) -> Candidate:
        return Candidate(language="triton", source=_as_candidate(kernel, entry, arguments))

    return Pair("kernelbook", source, written, kernel.rewrites)


def _entry(python: str, triton: str) -> str | None:
    """The module's class: the last one that has a counterpart with `New` behind its name."""
    try:
        classes = [node.name for node in ast.parse(python).body if isinstance(node, ast.ClassDef)]
        kernels = {node.name for node in ast.parse(triton).body if isinstance(node, ast.ClassDef)}
    except (SyntaxError, ValueError, RecursionError):
        return None
    return next((name for name in reversed(classes) if f"{name}New" in kernels), None)


def _arguments(python: str) -> Arguments | None:
    """What `get_init_inputs` returns, where it says so in literals: `[[], {}]`, or a plain list."""
    functions = (n for n in ast.parse(python).body if isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs")
    returned = next((s.value for f in functions for s in ast.walk(f) if isinstance(s, ast.Return)), None)
    if not isinstance(returned, ast.List):
        return None if returned is not None else Arguments((), ())
    match returned.elts:
        case [ast.List(elts=given), ast.Dict(keys=keys, values=values)]:
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            pairs = zip(names, map(ast.unparse, values), strict=False)
            return Arguments(tuple(map(ast.unparse, given)), tuple((str(name), value) for name, value in pairs))
    return Arguments(tuple(map(ast.unparse, returned.elts)), ())


def _as_task(python: str, entry: str, arguments: Arguments) -> str:
    tail = f"class Model({entry}):\n    def __init__(self):\n        super().__init__({arguments.text})"
    return f"{python.rstrip()}\n\n\n{tail}\n\n\ndef get_init_inputs():\n    return []\n"


def _as_candidate(kernel: Migrated, entry: str, arguments: Arguments) -> str:
    tail = f"class ModelNew({entry}New):\n    def __init__(self):\n        super().__init__({arguments.text})"
    return f"{kernel.text.rstrip()}\n\n\n{tail}\n"
