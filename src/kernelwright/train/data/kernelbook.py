"""Reader of local files in KernelBook's format: JSON lines or parquet, a module's `python_code` and its `triton_code`.

The module's class bears any name, and `get_init_inputs` gives positional and named arguments. Both texts become what the
referee takes: `Model` and `ModelNew` without arguments. Nothing is run here.

Code that `torch.compile` once wrote leans on private parts of PyTorch, which come and go. `migrate` is a table of rewrites,
each one named API: it puts a few public lines in the place of one such part, so that the sample stands alone. The sample names
what was rewritten, and the referee judges the result like any kernel.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kernelwright.errors import UsageError
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task, TaskSource
from kernelwright.train.data.collect import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence


class Rewrite(NamedTuple):
    """One API that changed."""

    name: str
    """Kept with each sample that needed it."""
    since: str
    """What changed, and when."""
    pattern: str
    """Of the statement that imports or binds it; group `as` is the name that it is used under, where it has one."""
    lines: str = ""
    """What stands in for it, with `{name}` for that name; empty: the statement just goes."""


_TABLE = tomllib.loads(Path(__file__).with_name("rewrites.toml").read_text(encoding="utf-8"))
REWRITES = tuple(Rewrite(**row) for row in _TABLE["rewrites"])
"""Imports and bindings. To add one: a row of the file."""
PHRASES = tuple((row["name"], row["pattern"], row["put"]) for row in _TABLE["phrases"])
"""Expressions: name, pattern, and what takes their place."""
NEEDED: dict[str, str] = _TABLE["needed"]
"""Imports by what a migrated text uses, where it has none."""


class Migrated(NamedTuple):
    """A text that stands on public parts, and what had to be rewritten."""

    text: str
    rewrites: tuple[str, ...]


def migrate(text: str) -> Migrated:
    """The source with every known change applied; the same text where there is nothing to change."""
    applied: list[str] = []
    for one in REWRITES:
        text, count = re.subn(one.pattern, partial(_in_place, one), text, flags=re.MULTILINE)
        applied += [one.name] * bool(count)
    for name, pattern, put in PHRASES:
        text, count = re.subn(pattern, put, text)
        applied += [name] * bool(count)
    return Migrated(_with_imports(text) if applied else text, tuple(applied))


def _in_place(one: Rewrite, found: re.Match[str]) -> str:
    if not one.lines:
        return ""
    name = found.groupdict().get("as") or one.name.rpartition(".")[2]
    return one.lines.replace("{name}", name)


def _with_imports(text: str) -> str:
    """The text with the imports that the rewrites need, ahead of everything."""
    missing: Sequence[str] = [
        line
        for used, line in NEEDED.items()
        if used in text and not re.search(rf"^{re.escape(line)}\b", text, re.MULTILINE)
    ]
    return "\n".join([*missing, text])


# Files.

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
