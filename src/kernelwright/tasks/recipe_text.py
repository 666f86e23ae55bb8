"""Reads the launch plan that a `.cu` file carries in its comment `/* kernelwright … */`: TOML into a Recipe.

Expressions stay text: shapes and devices are unknown here. Nothing is run.
"""

import re
import tomllib
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import UsageError
from kernelwright.languages import COMMENTS, plan_in
from kernelwright.records.candidate import Tunable
from kernelwright.records.recipe import Recipe, RecipeConstant, RecipeLaunch, RecipeWorkspace

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(-?\d+)\)?[ \t]*$"
    r"|\bconstexpr[ \t]+(?:static[ \t]+)?(?:unsigned|int|size_t|u?int\d+_t)(?:[ \t]+int)?[ \t]+(\w+)[ \t]*=[ \t]*(\d+)[ \t]*;",
    re.MULTILINE,
)
_KEYS = {"flags", "zeroed_outputs", "tunables", "constants", "workspace", "launch"}
_LAUNCH_KEYS = {"kernel", "grid", "block", "shared", "cluster", "cooperative", "arguments"}
_WORKSPACE_KEYS = {"bytes", "zeroed"}

Table = dict[str, object]


class Plan(NamedTuple):
    """What a file's comment says."""

    recipe: Recipe
    tunables: tuple[Tunable, ...]
    flags: tuple[str, ...]


def read_plan(source: str) -> Plan:
    """The launch plan in a source.

    Raises:
        UsageError: there is none, or it says something that cannot be; the message says the cure.
    """
    text = plan_in(source)
    if text is None:
        raise UsageError("the file has no comment /* kernelwright … */ with a launch plan")
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the launch plan is no TOML: {error}") from None
    _known("the launch plan", table, _KEYS)
    tunables = _tunables(_table("tunables", table))
    try:
        return Plan(
            _recipe(table, source, {t.name for t in tunables}), tunables, _texts("flags", table.get("flags", []))
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"the launch plan's {place} is not as it must be: {first['msg']}") from None


def _recipe(table: Table, source: str, tuned: set[str]) -> Recipe:
    named = {name: _text(f"constants.{name}", value) for name, value in _table("constants", table).items()}
    constants = [
        RecipeConstant(name=name, value=value, in_source=True)
        for name, value in _macros(source).items()
        if name not in tuned | named.keys()
    ]
    constants += [RecipeConstant(name=name, value=value) for name, value in named.items()]
    launches = tuple(_launch(i, entry) for i, entry in enumerate(_tables("launch", table)))
    if not launches:
        raise UsageError("the launch plan has no [[launch]]: say kernel, grid, block and arguments of each launch")
    return Recipe(
        launches=launches,
        workspaces=tuple(_workspace(i, entry) for i, entry in enumerate(_tables("workspace", table))),
        constants=tuple(constants),
        zeroed_outputs=_indices(table.get("zeroed_outputs", [])),
    )


def _launch(position: int, entry: Table) -> RecipeLaunch:
    where = f"launch {position}"
    _known(where, entry, _LAUNCH_KEYS)
    for key in ("kernel", "grid", "block"):
        if key not in entry:
            raise UsageError(f"{where} of the launch plan lacks {key!r}")
    cooperative = entry.get("cooperative", False)
    if not isinstance(cooperative, bool):
        raise UsageError(f"{where}: cooperative must be true or false")
    return RecipeLaunch(
        kernel=_text(f"{where}: kernel", entry["kernel"]),
        grid=_extents(f"{where}: grid", entry["grid"]),
        block=_extents(f"{where}: block", entry["block"]),
        shared_bytes=_text(f"{where}: shared", entry.get("shared", 0)),
        cluster=_extents(f"{where}: cluster", entry.get("cluster", 1)),
        cooperative=cooperative,
        arguments=_texts(f"{where}: arguments", entry.get("arguments", [])),
    )


def _workspace(position: int, entry: Table) -> RecipeWorkspace:
    _known(f"workspace {position}", entry, _WORKSPACE_KEYS)
    if "bytes" not in entry:
        raise UsageError(f"workspace {position} of the launch plan lacks 'bytes'")
    return RecipeWorkspace(
        nbytes=_text(f"workspace {position}: bytes", entry["bytes"]), zeroed=entry.get("zeroed", False) is True
    )


def _tunables(table: Table) -> tuple[Tunable, ...]:
    found = []
    for name, values in table.items():
        if not isinstance(values, list) or not values or any(type(v) is not int for v in values):
            raise UsageError(f"tunables.{name} must be a list of integers, the default one first, such as [256, 128]")
        found.append(Tunable(name=name, values=tuple(values)))
    return tuple(found)


def _macros(source: str) -> dict[str, str]:
    """Macros and constants that the source defines as one integer, and never as another."""
    found: dict[str, set[str]] = {}
    for macro, value, constant, number in _DEFINE.findall(COMMENTS["c"].sub(" ", source)):
        found.setdefault(macro or constant, set()).add(value or number)
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _extents(where: str, value: object) -> tuple[str, str, str]:
    given = value if isinstance(value, list) else [value]
    if not 1 <= len(given) <= 3:
        raise UsageError(f'{where} must have one to three extents, such as "ceil_div(in0.numel, BLOCK)" or [32, 8]')
    x, y, z = [*(_text(where, v) for v in given), "1", "1"][:3]
    return (x, y, z)


def _text(where: str, value: object) -> str:
    if type(value) is int or isinstance(value, str):
        return str(value)
    raise UsageError(f"{where} must be an integer or an expression in quotes, not {value!r}")


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError(f'{where} must be a list, such as ["in0", "out0", "i32(in0.numel)"]')
    return tuple(_text(where, v) for v in value)


def _indices(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(v) is not int for v in value):
        raise UsageError("zeroed_outputs must be a list of positions, such as [0]")
    return tuple(value)


def _table(name: str, table: Table) -> Table:
    value = table.get(name, {})
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table: write [{name}] and one line a name")
    return value


def _tables(name: str, table: Table) -> list[Table]:
    value = table.get(name, [])
    if not isinstance(value, list) or any(not isinstance(v, dict) for v in value):
        raise UsageError(f"{name} must be written as [[{name}]], with double brackets")
    return value


def _known(where: str, table: Table, keys: set[str]) -> None:
    for key in table.keys() - keys:
        raise UsageError(f"{where} has {key!r}, which is not known; known are {', '.join(sorted(keys))}")
