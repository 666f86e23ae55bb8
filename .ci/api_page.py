"""Writes docs/api.md from the docstrings of `kernelwright.__all__`; with --check it only says whether the page is current."""

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
NOTICE = "<!-- Written by `python .ci/api_page.py` from docstrings: edit those. -->"
TITLES = {"parameters": "Takes", "returns": "Returns", "raises": "Raises"}
ORDER = ("optimize", "Result", "check", "capture", "Referee", "find_reward", "Reward")
"""What a reader looks for first; the rest follows by name."""


def main(arguments: list[str]) -> int:
    """Write the page, or check it; the status is 1 if it is not current."""
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == text:
        return 0
    sys.stderr.write("docs/api.md is not what the docstrings say: python .ci/api_page.py\n")
    return 1


@functools.cache
def page() -> str:
    """The whole page."""
    package = griffe.load("kernelwright", search_paths=[str(ROOT / "src")])
    names = [str(name).strip("'\"") for name in package.exports or () if "__" not in str(name)]
    ordered = [*ORDER, *sorted(set(names) - set(ORDER))]
    parts = ["# From Python", NOTICE, _text(package.docstring), "Plug-ins: [plugins.md](plugins.md)."]
    for name in ordered:
        parts += _object(name, package[name].final_target)
    return "\n\n".join(part for part in parts if part) + "\n"


def _object(name: str, found: griffe.Object) -> Iterator[str]:
    yield f"## `kw.{name}`"
    if isinstance(found, griffe.Function):
        yield from _function(found)
    elif isinstance(found, griffe.Class):
        yield _text(found.docstring)
        if made := found.members.get("__init__"):
            yield from _function(made)
        yield from _fields(found)
        for method in _own(found, griffe.Function):
            yield f"### `{method.name}`"
            yield from _function(method)
    else:
        yield _text(found.docstring)
        yield f"```python\n{name} = {found.value}\n```"


def _function(found: griffe.Function) -> Iterator[str]:
    yield f"```text\n{_signature(found)}\n```"
    for section in found.docstring.parse("google") if found.docstring else ():
        if section.kind.value == "text":
            yield section.value.strip()
        elif section.kind.value in TITLES:
            rows = [_row(item, section.kind.value) for item in section.value]
            yield "\n".join([f"{TITLES[section.kind.value]}:", "", *rows])


def _signature(found: griffe.Function) -> str:
    """One line, or a parameter a line where that is too long."""
    marks = {"variadic positional": "*", "variadic keyword": "**"}
    given, after_star = [], False
    for one in found.parameters:
        if one.name == "self":
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not after_star:
            after_star = bool(given.append("*")) or True
        default = f" = {one.default}" if one.default is not None and one.kind.value not in marks else ""
        given.append(f"{marks.get(one.kind.value, '')}{one.name}: {one.annotation}{default}")
    name = found.parent.name if found.name == "__init__" else found.name
    head = f"async {name}" if "async" in found.labels else name
    tail = "" if found.name == "__init__" else f" -> {found.returns}"
    line = f"{head}({', '.join(given)}){tail}"
    return line if len(line) <= 100 else f"{head}(\n    " + ",\n    ".join(given) + f",\n){tail}"


def _row(item: griffe.DocstringElement, kind: str) -> str:
    name = getattr(item, "name", "") if kind == "parameters" else item.annotation if kind == "raises" else ""
    words = " ".join(item.description.split())
    return f"- `{name}`: {words}" if name else f"- {words}"


def _fields(found: griffe.Class) -> Iterator[str]:
    """The public attributes that are not computed, and then the properties."""
    rows = [
        f"| `{one.name}` | `{str(one.annotation).replace('|', chr(92) + '|')}` | {_first(one.docstring)} |"
        for one in _own(found, griffe.Attribute)
        if one.annotation is not None
    ]
    if rows:
        yield "\n".join(["| field | type | |", "|---|---|---|", *rows])


def _own(found: griffe.Class, kind: type) -> list[griffe.Object]:
    return [one for name, one in found.members.items() if isinstance(one, kind) and not name.startswith("_")]


def _first(docstring: griffe.Docstring | None) -> str:
    return " ".join(docstring.value.split()) if docstring else ""


def _text(docstring: griffe.Docstring | None) -> str:
    return docstring.value.strip() if docstring else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
