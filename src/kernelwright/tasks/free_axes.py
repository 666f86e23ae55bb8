"""Free axes: sizes that a caller of a task may choose, and the task at other sizes.

`torch.export` with symbolic sizes says which sizes are free (`evaluate/entrypoints/reference/symbolic.py`). Here it is worked
out what follows from them: the same program at several sizes differs in numbers, and each of these is a short polynomial of
the sizes or it follows from none. Texts of kernels are compared in the same way (`propose/author/lower/other_sizes.py`).
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any

from pydantic import JsonValue

from kernelwright.records.expression import worth
from kernelwright.records.free_sizes import FreeAxis, FreeSizes
from kernelwright.records.task import Task

Sizes = Mapping[str, int]
Powers = tuple[int, ...]
MOST_TERMS = 3
SQUARES = 2
"""Most axes of which squares are tried too: attention has them."""
MOST_QUOTIENTS, MOST_DIVISOR = 3, 64
"""Of a size, by a number: what windows and parts of rows have."""
MOST_POWERS = 16
"""Products of sizes of which sums of three are tried."""
POINTS = 8
"""Sets of sizes at which a program is compared: more than terms, so that a wrong polynomial is found out."""
STEP = 16
"""What sizes of one axis differ by, or by a multiple of it: no block of a kernel divides any, so that all texts have masks."""
FACTORS = (3, 5)
"""Factors that those sizes do not have either."""
ESTIMATES = ("bytes", "flops")
"""Fields of a graph that no kernel depends on."""


def fitted(values: Sequence[int], points: Sequence[Sizes]) -> str | None:
    """What gives these values at these sizes, such as `12*size0 + 1`; None where that is no sum of few products."""
    names = tuple(points[0])
    return _fitted(tuple(values), names, tuple(tuple(p[n] for n in names) for p in points))


@cache
def _fitted(values: tuple[int, ...], names: tuple[str, ...], points: tuple[tuple[int, ...], ...]) -> str | None:
    if len(set(values)) == 1:
        return str(values[0])
    most = 2 if len(names) <= SQUARES else 1
    powers = sorted(itertools.product(range(most + 1), repeat=len(names)), key=sum)
    columns = {p: [prod(n**e for n, e in zip(point, p, strict=True)) for point in points] for p in powers}
    for count in range(1, min(MOST_TERMS if len(powers) <= MOST_POWERS else 2, len(points)) + 1):
        found = [(sum(map(abs, factors)), factors, chosen) for factors, chosen in _fits(values, columns, powers, count)]
        if found:
            _, factors, chosen = min(found)
            return _sum(zip(factors, chosen, strict=True), names)
    return None


def _fits(
    values: Sequence[int], columns: Mapping[Powers, Sequence[int]], powers: Sequence[Powers], count: int
) -> Iterator[tuple[list[int], tuple[Powers, ...]]]:
    """Sums of so many products that have these values: factors and powers. Of a few points, more than one may."""
    for chosen in itertools.combinations(powers, count):
        factors = _solved([[columns[p][row] for p in chosen] for row in range(count)], values[:count])
        if factors and all(
            sum(f * columns[p][row] for f, p in zip(factors, chosen, strict=True)) == value
            for row, value in enumerate(values)
        ):
            yield factors, chosen


def _solved(rows: list[list[int]], values: Sequence[int]) -> list[int] | None:
    """Whole numbers, none of them zero, that solve a system of as many equations; None: there are none."""
    system = [[Fraction(n) for n in (*row, value)] for row, value in zip(rows, values, strict=True)]
    for at in range(len(system)):
        pivot = next((r for r in range(at, len(system)) if system[r][at]), None)
        if pivot is None:
            return None
        system[at], system[pivot] = system[pivot], system[at]
        for row in range(len(system)):
            if row != at and system[row][at]:
                factor = system[row][at] / system[at][at]
                system[row] = [a - factor * b for a, b in zip(system[row], system[at], strict=True)]
    found = [row[-1] / row[at] for at, row in enumerate(system)]
    return [int(n) for n in found] if all(n and n.denominator == 1 for n in found) else None


def _sum(terms: Iterable[tuple[int, tuple[int, ...]]], names: Sequence[str]) -> str:
    """Products in words that any language reads, what is taken away last."""
    text = ""
    for factor, powers in sorted(terms, key=lambda term: (term[0] < 0, [-p for p in term[1]])):
        parts = [name for name, power in zip(names, powers, strict=True) for _ in range(power)]
        term = "*".join([*([str(abs(factor))] if abs(factor) != 1 or not parts else []), *parts])
        text = f"{text} {'-' if factor < 0 else '+'} {term}" if text else f"{'0 - ' * (factor < 0)}{term}"
    return text


def all_fitted(columns: Sequence[Sequence[int]], points: Sequence[Sizes]) -> list[str] | None:
    """What gives each column's values at these sizes, where they may follow from quotients of single sizes too; else None."""
    texts = [fitted(column, points) for column in columns]
    quotients = dict.fromkeys(
        q for c, text in zip(columns, texts, strict=True) if text is None and (q := _quotient(c, points))
    )
    named = {f"q{n}_": text for n, text in enumerate(list(quotients)[:MOST_QUOTIENTS])}
    more = [{**point, **{name: worth(text, point) for name, text in named.items()}} for point in points]
    found = [text or (fitted(column, more) if named else None) for column, text in zip(columns, texts, strict=True)]
    known = [re.sub(r"q\d+_", lambda m: f"({named[m[0]]})", text) for text in found if text is not None]
    return known if len(known) == len(found) else None


def _quotient(values: Sequence[int], points: Sequence[Sizes]) -> str | None:
    """One size over a number, such as `(size0 + 9)//10`; rounded up, where these points allow both."""
    for name in points[0]:
        sizes = [point[name] for point in points]
        for divisor in range(2, MOST_DIVISOR + 1):
            for more in range(divisor - 1, -1, -1):
                if [(size + more) // divisor for size in sizes] == [*values]:
                    return f"({name} + {more})//{divisor}"
    return None


def points(axes: Sequence[FreeAxis], count: int = POINTS) -> list[dict[str, int]]:
    """Sizes to compare a program at, near the traced ones; no two axes have the same at any point."""
    used: set[int] = set()
    columns = []
    for place, axis in enumerate(axes):
        found = (
            n for n in itertools.count(STEP * (axis.size // STEP) + 1, STEP) if n > 1 and all(n % f for f in FACTORS)
        )
        column = list(itertools.islice((n for n in found if n not in used), count))
        used.update(column)
        # Each axis turns in its own way, so that they do not grow in step.
        columns.append([column[(row * (2 * place + 1) + 3 * place) % count] for row in range(count)])
    return [{a.name: column[row] for a, column in zip(axes, columns, strict=True)} for row in range(count)]


def followed(axes: Sequence[FreeAxis], traced: JsonValue, others: Sequence[JsonValue]) -> FreeSizes | None:
    """The axes with what follows from them; None where something follows in no way that can be written down.

    Args:
        axes: in the order of `points`.
        traced: what the program is at the traced sizes.
        others: what it is at each of `points(axes)`.
    """
    at, places = points(axes, len(others)), {}
    if any(_skeleton(other) != _skeleton(traced) for other in others):
        return None
    numbers = [dict(_numbers(other)) for other in others]
    for path, value in _numbers(traced):
        values = [found[path] for found in numbers]
        text = fitted(values, at)
        if text is None:
            return None
        if len(set(values)) > 1:
            if worth(text, {a.name: a.size for a in axes}) != value:
                return None
            places[path] = text
        elif values[0] != value:
            return None
    return FreeSizes(axes=tuple(axes), places=places)


def described(task: Task) -> dict[str, JsonValue]:
    """What of a task may follow from sizes: its shapes and its graph."""
    work = task.workload
    inputs, outputs, parameters = (
        [each.model_dump(mode="json", include={"shape", "name"}) for each in specs]
        for specs in (work.inputs, work.outputs, work.parameters)
    )
    return {
        **shapes_and_graph(inputs, outputs, task.graph.model_dump(mode="json")["nodes"]), "parameters": [*parameters]
    }  # fmt: skip


def declared(task: Task) -> FreeSizes | None:
    """The axes that a task's file declares, with what follows from them as its workloads show.

    The workloads of which the program is another one than the main one's are left out. None where too few are left: then
    something follows in more ways than one, or in none.
    """
    workloads, main = task.source.workloads, task.main
    if workloads is None or main.source.part is None:
        return None
    tree = described(main)
    alike = [part for part in task.parts if _skeleton(described(part)) == _skeleton(tree)]
    sizes = [part.source.part.sizes for part in alike if part.source.part]
    axes = workloads.varying
    if not axes or any(len({one[a.name] for one in sizes}) < 2 for a in axes):
        return None
    at_each = [{a.name: one[a.name] for a in axes} for one in sizes]
    found = [dict(_numbers(described(part))) for part in alike]
    columns = {path: [one[path] for one in found] for path in found[0]}
    varied = {path: column for path, column in columns.items() if len({*column}) > 1}
    texts = all_fitted([*varied.values()], at_each)
    if texts is None:
        return None
    told = tuple(
        FreeAxis(name=a.name, size=main.source.part.sizes[a.name], low=a.low, high=a.high if a.declared else None)
        for a in axes
    )
    return FreeSizes(axes=told, places=dict(zip(varied, texts, strict=True)))


def shapes_and_graph(inputs: list[Any], outputs: list[Any], nodes: list[Any]) -> dict[str, JsonValue]:
    """The tree whose paths `FreeSizes.places` has."""
    return {"inputs": inputs, "outputs": outputs, "nodes": nodes}


def at(task: Task, sizes: Sizes) -> Task:
    """The task at other sizes of its free axes; an axis that is not named is as it was traced."""
    assert task.free is not None
    known = {axis.name: axis.size for axis in task.free.axes} | dict(sizes)
    tree: Any = {
        "inputs": [i.model_dump(mode="json") for i in task.workload.inputs],
        "outputs": [o.model_dump(mode="json") for o in task.workload.outputs],
        "parameters": [p.model_dump(mode="json") for p in task.workload.parameters],
        "nodes": task.graph.model_dump(mode="json")["nodes"],
    }
    for path, expression in task.free.places.items():
        *way, last = (int(part) if part.isdecimal() else part for part in path.split("."))
        inner = tree
        for part in way:
            inner = inner[part]
        inner[last] = worth(expression, known)
    graph = task.graph.model_dump(mode="json") | {"nodes": tree.pop("nodes")}
    workload = task.workload.model_dump(mode="json") | tree
    plain = task.model_dump(mode="json", exclude={"workload", "graph", "free", "parts"})
    return Task.model_validate({**plain, "workload": workload, "graph": graph})


def _numbers(tree: JsonValue, path: str = "") -> Iterator[tuple[str, int]]:
    """Whole numbers with their paths, but estimates."""
    for name, inner in _children(tree):
        if isinstance(inner, int) and not isinstance(inner, bool):
            yield f"{path}{name}", inner
        else:
            yield from _numbers(inner, f"{path}{name}.")


def _children(tree: JsonValue) -> list[tuple[str, JsonValue]]:
    if isinstance(tree, dict):
        return [(name, inner) for name, inner in tree.items() if name not in ESTIMATES]
    return [(str(n), inner) for n, inner in enumerate(tree)] if isinstance(tree, list) else []


def _skeleton(tree: JsonValue) -> JsonValue:
    """A tree without its whole numbers."""
    if isinstance(tree, dict):
        return {name: _skeleton(inner) for name, inner in _children(tree)}
    if isinstance(tree, list):
        return [_skeleton(inner) for inner in tree]
    return None if isinstance(tree, int) and not isinstance(tree, bool) else tree
