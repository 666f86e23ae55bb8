"""Values of any record, for hypothesis: every field by its annotation and its bounds, optional ones too."""

import importlib
import pkgutil
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from pydantic import AllowInfNan, JsonValue

from kernelwright import records
from kernelwright.records.base import Record
from kernelwright.records.graph import Leaf
from kernelwright.records.names import OneOf
from kernelwright.records.technique import START, Edge, StepExample, TechniqueGraph

NAMES = [m.name for m in pkgutil.iter_modules(records.__path__)]
MODULES = [importlib.import_module(f"kernelwright.records.{n}") for n in NAMES]
RECORDS = sorted(
    {
        thing
        for module in MODULES
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Record) and thing is not Record
        if not thing.__name__.startswith("_")
    },
    key=lambda record: record.__name__,
)
"""Every record there is."""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.none() | st.booleans() | st.integers() | FINITE | TEXTS | st.lists(st.integers(), max_size=2)
CHOSEN = {
    "Policy": {"baselines": st.sampled_from([("eager", "compile"), ("compile", "eager"), ("eager",)])},
    "Axis": {"low": st.integers(0, 9), "high": st.integers(9, 99)},
}
"""Fields whose records are choosier than their annotations."""
NESTED = ("parts", "workloads")
"""Fields of records that hold records of their own kind."""


@cache
def build(record):
    """Valid instances of a record; made once, since a strategy that many others hold is checked once only."""
    if record is TechniqueGraph:
        return graphs()
    values = {n: of(f.annotation, f.metadata) for n, f in record.model_fields.items() if n not in NESTED}
    return st.builds(record, **(values | CHOSEN.get(record.__name__, {})))


@st.composite
def graphs(draw):
    """A graph that fits together: the ends of its edges are nodes, and what its examples name is among its codes."""
    name = draw(build(Edge)).target
    examples = tuple(draw(st.lists(build(StepExample), max_size=2)))
    codes = {end: draw(TEXTS) for example in examples for end in (example.before, example.after)}
    edge = Edge(source=START, target=name, examples=examples[:1], counter=examples[1:])
    return TechniqueGraph(nodes=tuple({START: 0, name: 1}), edges=(edge,), codes=codes, merged=tuple(codes))


def of(annotation: Any, bounds=()):
    """Values of an annotation."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is JsonValue:
        return JSON
    if origin is Annotated:
        return of(inner[0], [bound for given in inner[1:] for bound in getattr(given, "metadata", [given])])
    if origin is Literal:
        return st.sampled_from(inner)
    if annotation == Leaf or (origin in (Union, UnionType) and set(inner) > set(get_args(Leaf))):
        # What is infinite has a record of its own there; a float must be finite.
        return st.one_of(*(FINITE if part is float else of(part) for part in inner))
    if origin in (Union, UnionType):
        return st.one_of(*(of(part) for part in inner))
    if origin is tuple:
        return sequence(inner, bounds)
    if origin is dict:
        return st.dictionaries(TEXTS if inner[0] is str else of(inner[0]), of(inner[1]), max_size=2)
    return plain(annotation, bounds)


def sequence(inner, bounds):
    """Values of a tuple's annotation."""
    if inner[-1] is not Ellipsis:
        return st.tuples(*(of(part) for part in inner))
    least = limit(bounds, annotated_types.MinLen, "min_length") or 0
    return st.lists(of(inner[0]), min_size=least, max_size=2).map(tuple)


def plain(kind, bounds):
    """Values of a class."""
    if kind is NoneType:
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind is str and (choices := [bound.names for bound in bounds if isinstance(bound, OneOf)]):
        return st.sampled_from(choices[0])
    if kind is str:
        pattern = limit(bounds, object, "pattern")
        least = limit(bounds, annotated_types.MinLen, "min_length")
        return st.from_regex(pattern, fullmatch=True) if pattern else TEXTS.filter(lambda t: len(t) >= (least or 0))
    if kind is int:
        at_least, at_most = limit(bounds, annotated_types.Ge, "ge"), limit(bounds, annotated_types.Le, "le")
        return st.integers(min_value=at_least, max_value=1 << 62 if at_most is None else at_most)
    if kind is float:
        at_least, above = limit(bounds, annotated_types.Ge, "ge"), limit(bounds, annotated_types.Gt, "gt")
        below, at_most = limit(bounds, annotated_types.Lt, "lt"), limit(bounds, annotated_types.Le, "le")
        return st.floats(
            at_least if above is None else above, at_most if below is None else below,
            exclude_min=above is not None, exclude_max=below is not None, allow_nan=False,
            allow_infinity=limit(bounds, AllowInfNan, "allow_inf_nan"),
        )  # fmt: skip
    if issubclass(kind, Record):
        return build(kind)
    return st.sampled_from(list(kind))


def limit(bounds, kind, name):
    """The bound of that kind, if there is one."""
    return next((getattr(b, name) for b in bounds if isinstance(b, kind) and hasattr(b, name)), None)
