"""What a kernel can be written in, as the folder of each language says.

`evaluate/languages/<name>/` has three files. `language.toml` has the fields of `Language`; `contract.md` says what a source
must keep, with an example, and is the text that prompts, tools and MCP show; `build.py` turns a source into something that
runs. This module reads the first two, and tells which language a text is in. It stands below the records, which check the
names of languages against it. Nothing is run.
"""

import ast
import re
import tomllib
import warnings
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kernelwright.errors import UsageError

FOLDER = Path(__file__).parent / "evaluate" / "languages"
MOST_BLOCKS = 16
"""Blocks `extern "C" { … }` of a text that are looked into."""
COMMENTS = {"c": re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL), "python": re.compile(r"#[^\n]*")}
"""By syntax."""
_PLAN = re.compile(r"/\*+[ \t]*kernelwright[ \t]*\n(.*?)(\*/|\Z)", re.DOTALL)
_PYTHON = re.compile(r"^\s*(?:import|from)\s+\w+|^class\s+ModelNew\b", re.MULTILINE)
_EXTERN = re.compile(r'extern\s*"C"\s*([\w\s*]*?)\b(\w+)\s*\(')
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]")
"""GCC's and the standard's, which stand anywhere before a function's name."""
LAUNCH = re.compile(r"^[ \t]*(?:static[ \t]+|inline[ \t]+)*void[ \t]+launch[ \t]*\(", re.MULTILINE)
"""Host code that is read as a launch plan."""
_BLOCK = re.compile(r'extern\s*"C"\s*\{')
_POINTER = re.compile(r"[\w: ]*\w ?(?:\*[\w *]*(?:\[\w*\])?|\[\w*\])")
"""One parameter that is a pointer, without templates and macros with arguments."""
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)$", re.MULTILINE)
_FUNCTION = re.compile(r"(?<![\w\s*])([\w\s*]++)\([^(){};]*\)\s*\{")


_IMPORTS = ("import_module", "__import__")
"""Functions that import what a string names."""


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Declarations(_Data):
    """What a source may declare in comments, a line each: `tunable NAME: 1 2 3`, `workspace: BYTES`, `flags: -f…`."""

    comment: str
    """What begins a comment."""
    tunable: str
    """Pattern of the constant `NAME` that the source leaves open; its first group is the default."""
    workspace: bool = False
    flags: bool = False


class Language(_Data):
    """One language of kernels."""

    name: str
    order: int
    """Place among the languages. The first that serves a kind of device is that kind's usual one."""
    title: str
    """As people write it."""
    what: str
    """What a source is, in words."""
    told_by: str = ""
    """What it has that another language with its ending has not."""
    targets: tuple[str, ...]
    """Kinds of device that it is for."""
    suffixes: tuple[str, ...]
    """File endings, the usual one first."""
    fence: str
    """Tag of its Markdown blocks."""
    tags: tuple[str, ...] = ()
    """Other tags that models give its blocks."""
    lexer: str
    """Pygments' name for its highlighter."""
    syntax: Literal["c", "python"]
    form: Literal["function", "plan", "module"]
    """`function`: the referee calls a function with C linkage. `plan`: it launches kernels by a plan in a comment.
    `module`: it calls the `ModelNew` of a Python module."""
    defines: str
    """Pattern that every source of it has."""
    marks: str = ""
    """Pattern by which a module is told from those of other languages."""
    own_work: str = ""
    """Pattern of what a text needs to compute anything without PyTorch's operators; empty: every source does."""
    calling: str
    """How the referee calls a kernel, in words."""
    linkage: str = ""
    """What stands before a function that is called from outside: `extern "C"` in C++, nothing in C."""
    last_argument: str = ""
    """Of a function, after the pointers."""
    drop_in: Literal["", "itself", "compiled", "launched"] = ""
    """How a kernel becomes a `ModelNew` file: as it is, or compiled on first use and called, or launched by its plan. Empty:
    it cannot yet."""
    declares: Declarations | None = None
    kernels: Literal["one", "counted", "unknown"] = "counted"
    """How many kernels of its own a source has: one function, as many as its build counts, or what nobody counts."""
    types: dict[str, str] = {}
    """What a pointer to a tensor points to, by the tensor's dtype."""

    @property
    def suffix(self) -> str:
        """The usual file ending."""
        return self.suffixes[0]

    @property
    def entry(self) -> str:
        """What a source should call the thing that is run."""
        return "ModelNew" if self.form == "module" else "kernel"

    @cached_property
    def contract(self) -> str:
        """What a source must keep, with an example: Markdown, a few lines and a block of code."""
        return (FOLDER / self.name / "contract.md").read_text(encoding="utf-8").strip()

    def functions(self, source: str) -> list[str]:
        """Names of the functions that a referee could call: with C linkage, and not device code."""
        code = _ATTRIBUTE.sub(" ", COMMENTS["c"].sub(" ", source))
        if not self.linkage:
            return sorted({name for before, name in _functions(_outline(code)) if not re.search(r"\bstatic\b", before)})
        blocks = [_outline(code[opening.end() :]) for opening in islice(_BLOCK.finditer(code), MOST_BLOCKS)]
        found = [*_EXTERN.findall(code), *(function for block in blocks for function in _functions(block))]
        return sorted({name for before, name in found if not re.search(r"__(?:global|device)__", before)})

    def pointers(self, source: str, entry: str) -> int | None:
        """How many pointers a function takes before the last argument; None where the text does not say so for certain."""
        code = _ATTRIBUTE.sub(" ", COMMENTS["c"].sub(" ", source))
        definition = rf"\b{re.escape(entry)}\s*\(([^()]*)\)\s*(?:noexcept\s*)?\{{"
        found = {self._counted(listed, code) for listed in re.findall(definition, code)}
        renamed = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(entry)}\b", code, re.MULTILINE)
        return found.pop() if len(found) == 1 and not renamed else None

    def _counted(self, listed: str, code: str) -> int | None:
        parts = [" ".join(part.split()) for part in listed.split(",")]
        if self.last_argument and parts.pop().split(" ")[0] != self.last_argument.split(" ")[0]:
            return None
        if parts in ([], [""], ["void"]):
            return 0
        words = set(re.findall(r"\w+", listed))
        several = {name for name, what in _MACRO.findall(code) if "," in what or "\\" in what}
        return len(parts) if words.isdisjoint(several) and all(map(_POINTER.fullmatch, parts)) else None

    def leaves_all(self, source: str) -> bool:
        """Whether nothing in a text computes by itself: it has no kernel of its own."""
        return bool(self.own_work) and not re.search(self.own_work, self._code(source))

    def tells(self, source: str) -> bool:
        """Whether a text has what only this language has, among those with its ending."""
        if self.form == "plan":
            return plan_in(source) is not None or launches(source)
        if self.form == "function":
            return bool(self.functions(source))
        return bool(self.marks) and re.search(self.marks, self._code(source)) is not None

    def _code(self, source: str) -> str:
        return python_code(source) if self.syntax == "python" else COMMENTS["c"].sub("", source)


@cache
def languages() -> tuple[Language, ...]:
    """Every language, the usual ones first."""
    tables = {
        file.parent.name: tomllib.loads(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*/language.toml")
    }
    return tuple(sorted((Language(name=name, **table) for name, table in tables.items()), key=lambda each: each.order))


@cache
def names() -> tuple[str, ...]:
    """The name of every language."""
    return tuple(each.name for each in languages())


@cache
def language(name: str) -> Language:
    """The language of that name.

    Raises:
        UsageError: there is none.
    """
    for each in languages():
        if each.name == name:
            return each
    raise UsageError(f"unknown language {name!r}: expected one of {', '.join(names())}")


@cache
def languages_for(kind: str) -> tuple[Language, ...]:
    """What kernels for a kind of device are written in, the usual language first."""
    return tuple(each for each in languages() if kind in each.targets)


def names_for(kind: str) -> tuple[str, ...]:
    """The names of what kernels for a kind of device are written in, the usual one first."""
    return tuple(each.name for each in languages_for(kind))


@cache
def suffixes() -> tuple[str, ...]:
    """Every file ending of a kernel."""
    return tuple(dict.fromkeys(suffix for each in languages() for suffix in each.suffixes))


def language_of(source: str, suffix: str, kind: str = "") -> Language:
    """The language of a text that was read from a file with this ending; of a module that builds nothing, one for `kind`.

    Raises:
        UsageError: no language has the ending.
    """
    sharing = [each for each in languages() if suffix in each.suffixes]
    if not sharing:
        raise UsageError(f"a kernel's ending must be one of {', '.join(suffixes())}, not {suffix!r}")
    usual = sharing[0]
    if usual.form == "module" and kind not in usual.targets and not re.search(rf"\b{usual.name}\b", source):
        usual = next((each for each in sharing if kind in each.targets), usual)
    return next((each for each in sharing if each.tells(source)), usual)


def likely_suffix(source: str, kind: str) -> str:
    """The ending that a text for a kind of device would have, by what it looks like."""
    offered = languages_for(kind)
    python = _PYTHON.search(source) is not None and plan_in(source) is None
    looks = [each for each in offered if (each.syntax == "python") == python]
    return (looks or offered)[0].suffix


def plan_in(source: str) -> str | None:
    """Text of the launch plan `/* kernelwright … */`; None where there is none, or its comment is never closed."""
    match = _PLAN.search(source)
    return match[1] if match and match[2] else None


def launches(source: str) -> bool:
    """Whether a text has a function `launch` that can be a plan: nothing else of it is called from outside."""
    code = COMMENTS["c"].sub(" ", source)
    return LAUNCH.search(code) is not None and _EXTERN.search(code) is None


def python_code(source: str) -> str:
    """What of a Python text is code, spelled anew: no comment, and of strings those alone that say what to import.

    A text that cannot be parsed is only rid of what looks like a comment.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.unparse(_WithoutStrings().visit(ast.parse(source)))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return COMMENTS["python"].sub("", source)


class _WithoutStrings(ast.NodeTransformer):
    """Empties every string but those that are given to an import."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return node if name in _IMPORTS else self.generic_visit(node)


def _functions(outline: str) -> list[tuple[str, str]]:
    """What stands before the arguments of each function, and its name, the last word of that."""
    heads = ((head, re.split(r"[\s*]", head.rstrip())[-1]) for head in _FUNCTION.findall(outline))
    return [(head, name) for head, name in heads if name]


def _outline(code: str) -> str:
    """What stands in a block, without the bodies in it: up to the brace that closes it."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", code):
        if depth == 0:
            kept.append(part)
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth < 0:
            break
    return "".join(kept)


LARGEST_SOURCE = 2 << 20
"""Bytes of a source that is compiled."""


def too_large(source: str) -> str:
    """Why a source that is compiled is refused for its size; empty where it is not."""
    size = len(source.encode(errors="replace"))
    return f"the source has {size} bytes, more than {LARGEST_SOURCE}" if size > LARGEST_SOURCE else ""
