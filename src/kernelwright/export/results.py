"""What stands around a task's results, as Python text: a drop-in gives back what the module gives that it stands for."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from pydantic import JsonValue

from kernelwright.errors import ProposeError

OWN = "task"
"""What the module of a task's own file is called (`calltree.py`)."""
HELPERS = (Path(__file__).parent / "parts/results.py.txt").read_text(encoding="utf-8")
"""What `text` uses where a tree has classes."""


def put_together(tree: JsonValue) -> str:
    """The function `_as_given` of a drop-in: from a kernel's results to what the module returns; nothing where they are that.

    Raises:
        ProposeError: the tree has a name that is none.
    """
    if tree is None:
        return ""
    given = text(tree)
    return f"""{HELPERS if "_found(" in given or "_filled(" in given else ""}def _as_given(found):
    \"\"\"What the kernels computed, put together as Model does.\"\"\"
    found = found if isinstance(found, tuple | list) else (found,)
    return {given}


"""


def text(node: JsonValue) -> str:
    """A result's tree as Python, over the list `found` of its leaves; it may use HELPERS and `torch`."""
    match node:
        case int(number):
            return f"found[{number}]"
        case {"tuple": list(values)}:
            return f"({''.join(f'{text(v)}, ' for v in values).strip()})"
        case {"list": list(values)}:
            return f"[{', '.join(map(text, values))}]"
        case {"dict": dict(values), **kind}:
            return _mapping_text(kind, f"{{{', '.join(f'{k!r}: {text(v)}' for k, v in values.items())}}}")
        case {"pairs": list(pairs), **kind}:
            return _mapping_text(kind, f"dict([{', '.join(text({'tuple': pair}) for pair in pairs)}])")
        case {"fields": dict(fields), **kind}:
            return _held_text(kind, {k: text(v) for k, v in fields.items()})
    return _single(node)


def _mapping_text(kind: Mapping[object, object], values: str) -> str:
    if "mapping" not in kind:
        return values
    return f"{_place_text(kind['mapping'], kind)}({'**' if 'by' in kind else ''}{values})"


def _held_text(kind: Mapping[object, object], fields: Mapping[str, str]) -> str:
    form = next(form for form in ("namedtuple", "structure", "dataclass", "object") if form in kind)
    place, values = _place_text(kind[form], kind), ", ".join(fields.values())
    if form in ("namedtuple", "structure"):
        return f"{place}({values})" if form == "namedtuple" else f"{place}(({values}))"
    return f"_filled({place}, {{{', '.join(f'{k!r}: {v}' for k, v in fields.items())}}})"


def _place_text(name: object, kind: Mapping[object, object]) -> str:
    """Where a class is found: in the task's own file, or by import."""
    return f"_found({str(kind['module'])!r}, {str(name)!r})" if kind.get("module", OWN) != OWN else _safe(str(name))


def _safe(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ProposeError(f"{name!r} is no name")
    return name


def _single(node: JsonValue) -> str:
    match node:
        case {"number": int(number)}:
            return f"found[{number}].item()"
        case {"complex": int(number)}:
            return f"torch.view_as_complex(found[{number}])"
        case {"value": constant} | {"text": constant}:
            return f'float("{constant}")' if isinstance(constant, float) and not isfinite(constant) else repr(constant)
        case {"named": name, **kind}:
            return _place_text(name, kind)
        case {"made": name, "of": list(values)}:
            inside = ", ".join(_single(v) for v in values)
            called = {"device": "torch.device", "bytes": "bytes.fromhex", "size": "torch.Size"}.get(
                str(name), str(name)
            )
            return (
                f"{called}(({inside},))" if name in ("set", "frozenset", "size") and values else f"{called}({inside})"
            )
    return "None"
