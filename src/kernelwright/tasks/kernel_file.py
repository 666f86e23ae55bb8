"""Reads a kernel that a person or a model wrote, from a file or a text, and the names that it defines. Nothing is run.

The language follows from the ending and the text (`languages.py`). In C++ the entry is the `extern "C"` definition.

A `.cu` file may carry a launch plan in its comment `/* kernelwright … */`: TOML, which becomes a Recipe whose expressions
stay text, because shapes and devices are unknown here. Other texts declare in comments, a line each: `tunable NAME: 1 2
3`, `workspace: BYTES`, `flags: -f…`. A language says which of these it has, how a comment begins, and where the constant
stands that a source leaves open.
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import TaskError, UsageError
from kernelwright.languages import (
    COMMENTS,
    Language,
    language,
    language_of,
    languages,
    launches,
    likely_suffix,
    plan_in,
    suffixes,
)
from kernelwright.records.base import first_fault
from kernelwright.records.candidate import Candidate, Recipe, RecipeConstant, RecipeLaunch, RecipeWorkspace, Tunable
from kernelwright.tasks.files import read_text
from kernelwright.tasks.launch_function import read_launch

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(-?\d+)\)?[ \t]*$"
    r"|\bconstexpr[ \t]+(?:static[ \t]+)?(?:unsigned|int|size_t|u?int\d+_t)(?:[ \t]+int)?[ \t]+(\w+)[ \t]*=[ \t]*(\d+)[ \t]*;",
    re.MULTILINE,
)
_KEYS = {"flags", "zeroed_outputs", "tunables", "constants", "workspace", "launch"}
_LAUNCH_KEYS = {"kernel", "grid", "block", "shared", "cluster", "cooperative", "arguments"}
_WORKSPACE_KEYS = {"bytes", "zeroed"}

Table = dict[str, object]


class PlanText(NamedTuple):
    """What a file's comment says."""

    recipe: Recipe
    tunables: tuple[Tunable, ...]
    flags: tuple[str, ...]


def read_plan(source: str, written: Language) -> PlanText:
    """The launch plan in a source.

    Raises:
        UsageError: there is none, or it says something that cannot be; the message says the fix.
    """
    text = plan_in(source)
    if text is None and launches(source):
        return _read_launch(source, written)
    if text is None:
        raise UsageError(
            "the file has no launch plan: say how its kernels are launched, in a function `void launch(…)` or in a comment "
            "/* kernelwright … */"
        )
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the launch plan is no TOML: {error}") from None
    _known("the launch plan", table, _KEYS)
    tunables = _tunables(_table("tunables", table))
    try:
        return PlanText(
            _recipe(table, source, {t.name for t in tunables}), tunables, _texts("flags", table.get("flags", []))
        )
    except ValidationError as error:
        place, fault = first_fault(error)
        raise UsageError(f"the launch plan's {place} is not as it must be: {fault}") from None


def _read_launch(source: str, written: Language) -> PlanText:
    """The plan that a function `launch` is, with what comments declare."""
    tunables, flags = _declared(source, written)
    return PlanText(read_launch(source, _macros(source), {tunable.name for tunable in tunables}), tunables, flags)


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


_TUNABLE = r"(?m)^[ \t]*{}[ \t]*tunable[ \t]+(\w+)[ \t]*[:=][ \t]*([-\d][-\d, \t]*)$"
_WORKSPACE = r"(?m)^[ \t]*{}[ \t]*workspace[ \t]*[:=][ \t]*(\d{{1,12}})\b"
_FLAGS = r"(?m)^[ \t]*{}[ \t]*flags[ \t]*[:=][ \t]*(-\S+(?:[ \t]+-\S+)*)[ \t]*$"
MOST_TUNABLES, MOST_VALUES = 4, 16


def workspace_in(source: str, written: Language) -> int:
    """Bytes of scratch memory that a source asks for; 0 where it asks for none."""
    declares = written.declares
    found = re.search(_WORKSPACE.format(declares.comment), source) if declares and declares.workspace else None
    return int(found[1]) if found else 0


def with_declared(candidate: Candidate) -> Candidate:
    """The candidate with the tunables, the flags and the workspace that its source declares; what is given stays."""
    written = language(candidate.language)
    if candidate.recipe is not None or written.declares is None:
        return candidate
    tunables, flags = _declared(candidate.source, written)
    workspace = candidate.workspace_bytes or workspace_in(candidate.source, written)
    return candidate.model_copy(update={"tunables": tunables, "flags": flags, "workspace_bytes": workspace})


def _declared(source: str, written: Language) -> tuple[tuple[Tunable, ...], tuple[str, ...]]:
    """Declared constants that the source really leaves open, each with its default first; and flags."""
    declares = written.declares
    if declares is None:
        return (), ()
    found = {}
    for name, listed in re.findall(_TUNABLE.format(declares.comment), source):
        default = re.search(declares.tunable.replace("NAME", name), source)
        values = [int(v) for v in re.findall(r"-?\d+", listed)]
        if default is not None and values:
            found[name] = Tunable(name=name, values=tuple(dict.fromkeys([int(default[1]), *values]))[:MOST_VALUES])
    flags = re.search(_FLAGS.format(declares.comment), source) if declares.flags else None
    return tuple(found.values())[:MOST_TUNABLES], tuple(flags[1].split()) if flags else ()


def read_kernel(path: Path, entry: str | None = None, workspace_bytes: int = 0, kind: str = "") -> Candidate:
    """The kernel in a file, with what it declares; for this kind of device, where its language leaves that open.

    Raises:
        TaskError: the file cannot be read.
        UsageError: as `parse_kernel`, naming the file.
    """
    if path.suffix not in suffixes():
        raise UsageError(f"kernel {str(path)!r}: the ending must be one of {', '.join(suffixes())}")
    source = read_text(path, "kernel")
    if not source.strip():
        raise TaskError(f"kernel {str(path)!r} is empty")
    try:
        return with_declared(parse_kernel(source, path.suffix, entry, workspace_bytes, kind))
    except UsageError as error:
        raise UsageError(f"kernel {str(path)!r}: {error}") from None


def parse_kernel(
    source: str, suffix: str, entry: str | None = None, workspace_bytes: int = 0, kind: str = ""
) -> Candidate:
    """The kernel in a text, read as a file of that ending; for this kind of device, where its language leaves that open.

    Raises:
        UsageError: its launch plan cannot be read, or the entry cannot be told and `entry` is None.
    """
    found = language_of(source, suffix, kind)
    if found.form == "plan":
        plan = read_plan(source, found)
        return Candidate(
            language=found.name,
            source=source,
            entry=plan.recipe.launches[0].kernel,
            flags=plan.flags,
            tunables=plan.tunables,
            recipe=plan.recipe,
        )
    if entry is not None and not re.search(rf"\b{re.escape(entry)}\b", source):
        named = ", ".join(found.functions(source) if found.form == "function" else made(source))
        raise UsageError(
            f"--entry {entry}: there is no such name in it; it defines {named or 'nothing that can be called'}"
        )
    name = entry or (_entry(source, found) if found.form == "function" else found.entry)
    return Candidate(language=found.name, source=source, entry=name, workspace_bytes=workspace_bytes)


def parse_text(source: str, kind: str, named: str | None = None) -> Candidate:
    """The kernel in a text without a file, for a kind of device; its language is the named one, or what the text says.

    Tunables, workspace and flags are what the text declares in comments. In C++ the entry is the
    function named `kernel` where several could be it.

    Raises:
        UsageError: as `parse_kernel`; or the text is empty or binary.
    """
    if not source.strip():
        raise UsageError("the kernel's source is empty: give the whole file")
    if not is_text(source):
        raise UsageError("the kernel's source holds characters that no source has (NUL or lone surrogates)")
    suffix = language(named).suffix if named else likely_suffix(source, kind)
    written = language_of(source, suffix, kind)
    entry = written.entry if written.form == "function" and written.entry in written.functions(source) else None
    try:
        found = parse_kernel(source, suffix, entry, kind=kind)
    except UsageError as error:
        raise UsageError(str(error).replace("name the right one with --entry NAME", "call it `kernel`")) from None
    return with_declared(found if named in (None, written.name) else _as(found, language(named)))


def is_text(source: str) -> bool:
    """Whether a compiler could be given this: no NUL, and nothing that UTF-8 cannot say."""
    return "\0" not in source and not any("\ud800" <= character <= "\udfff" for character in source)


def _as(found: Candidate, named: Language) -> Candidate:
    """The same text under the contract that its author named."""
    if language(found.language).form == named.form == "module":
        return found.model_copy(update={"language": named.name})
    sharing = [each for each in languages() if each.suffix == named.suffix]
    marks = ", ".join(f"a `{each.name}` source has {each.told_by}" for each in sharing)
    raise UsageError(f"the source reads as {found.language}, not {named.name}: {marks}")


def _entry(source: str, written: Language) -> str:
    names = written.functions(source)
    if len(names) == 1:
        return names[0]
    found = f"{len(names)} such functions ({', '.join(names)})" if names else "none"
    raise UsageError(
        f"it must define one function `{f'{written.linkage} void NAME(...)'.strip()}`, it has {found}: "
        "name the right one with --entry NAME"
    )


_DYNAMIC = {"exec", "eval", "globals", "vars", "locals", "setattr", "__dict__", "modules", "__getattr__"}
"""What may define a name that no statement does."""


def surely_lacks(source: str, wanted: set[str]) -> bool:
    """Whether it is certain that a module has none of these names once it was imported."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    met = {name for node in nodes for name in _met(node)}
    return met.isdisjoint({"*", *wanted, *_DYNAMIC})


def made(source: str) -> list[str]:
    """The classes that a module defines at its top, or its functions where it has no class; none of what cannot be read."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    return classes or [node.name for node in body if isinstance(node, ast.FunctionDef)]


def _met(node: ast.AST) -> tuple[str, ...]:
    """Names that a node may define, or defines others with."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return (name,)
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,) if name in _DYNAMIC else ()
        case ast.alias(name=name, asname=other):
            return (other or name.partition(".")[0], name)
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return (name,)
    return ()
