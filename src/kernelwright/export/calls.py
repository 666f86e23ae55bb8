"""Where the leaves of a call lie in the arguments of `Model.forward`, and when a call has the task's form."""

import ast
from collections.abc import Iterator

from pydantic import JsonValue

from kernelwright.errors import ProposeError


def leaves(tree: JsonValue, signature: str) -> tuple[list[str], list[str], set[str]]:
    """The leaves as expressions, in order; conditions under which these hold; and the parameters that are given.

    Args:
        tree: of the call (`calltree.py`).
        signature: the parameters of forward, without `self`.

    Raises:
        ProposeError: the call has another form than lists, tuples, dicts, dataclasses and named tuples of leaves, None
            and words.
    """
    assert isinstance(tree, dict)
    given, beyond, conditions = _bound(tree["args"], tree["kwargs"], signature)
    found: dict[int, str] = {}
    conditions += [told for name, part in {**given, **beyond}.items() for told in _placed(name, part, found)]
    return [found[number] for number in sorted(found)], conditions, {*given} | {one.partition("[")[0] for one in beyond}


def _bound(
    args: JsonValue, kwargs: JsonValue, signature: str
) -> tuple[dict[str, JsonValue], dict[str, JsonValue], list[str]]:
    """What each parameter is given; what those that take all that is left are, by place or word; and how much that is."""
    assert isinstance(args, list)
    assert isinstance(kwargs, dict)
    (forward,) = ast.parse(f"def forward({signature}): ...").body
    assert isinstance(forward, ast.FunctionDef)
    taken = forward.args
    places = [a.arg for a in (*taken.posonlyargs, *taken.args)]
    words = {a.arg for a in (*taken.args, *taken.kwonlyargs)}
    more, others = args[len(places) :], {name: part for name, part in kwargs.items() if name not in words}
    if (more and not taken.vararg) or (others and not taken.kwarg):
        raise ProposeError("it is called with arguments that its forward has no names for")
    given = dict(zip(places, args, strict=False)) | {name: part for name, part in kwargs.items() if name in words}
    beyond: dict[str, JsonValue] = {}
    conditions = []
    if more and taken.vararg:
        beyond |= {f"{taken.vararg.arg}[{n}]": part for n, part in enumerate(more)}
        conditions.append(f"len({taken.vararg.arg}) == {len(more)}")
    if others and taken.kwarg:
        beyond |= {f"{taken.kwarg.arg}[{name!r}]": part for name, part in others.items()}
        conditions.append(f"{{*{taken.kwarg.arg}}} == {{{', '.join(map(repr, others))}}}")
    return given, beyond, conditions


def _placed(name: str, part: JsonValue, found: dict[int, str]) -> Iterator[str]:
    """Take note of the leaves of one part; gives what must hold for it to have this form."""
    match part:
        case int() if not isinstance(part, bool):
            found[part] = name
        case None:
            yield f"{name} is None"
        case {"text": str(word), **rest} if not rest:
            yield f"{name} == {word!r}"
        case _:
            condition, inside = _inside(name, part)
            yield condition
            for place, one in inside.items():
                yield from _placed(place, one, found)


def _inside(name: str, part: JsonValue) -> tuple[str, dict[str, JsonValue]]:
    """What must hold for a part to be put together so, and its own parts by their places."""
    match part:
        case {"list": list(parts), **rest} | {"tuple": list(parts), **rest} if not rest:
            assert isinstance(part, dict)
            places = {f"{name}[{number}]": one for number, one in enumerate(parts)}
            return f"type({name}) is {next(iter(part))} and len({name}) == {len(parts)}", places
        case {"dataclass": str(kind), "fields": dict(fields)} | {"namedtuple": str(kind), "fields": dict(fields)}:
            return f"type({name}).__name__ == {kind!r}", {f"{name}.{key}": one for key, one in fields.items()}
        case {"dict": dict(parts), **rest}:
            condition = f"type({name}).__qualname__ == {rest.get('mapping', 'dict')!r} and [*{name}] == {[*parts]!r}"
            return condition, {f"{name}[{key!r}]": one for key, one in parts.items()}
    named = part.get("object", "") if isinstance(part, dict) else ""
    said = f"of a class ({named})" if named else "of a class"
    raise ProposeError(f"argument {name} is {said} that a kernel's drop-in does not take apart")
