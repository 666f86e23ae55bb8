"""The TOML of a serial function, as far as its code shows it; the rest is asked for.

Sizes get prime numbers for the time being, so that the largest subscript of an array says which of them bound it: with n =
1009 and m = 2003, one of 1009 * 2003 places is n by m.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations
from math import prod
from pathlib import Path

import islpy

from kernelwright.errors import TaskError
from kernelwright.nests.dependence import bounds
from kernelwright.nests.loops import Access, Nest
from kernelwright.nests.macros import preprocessed
from kernelwright.nests.names import declared_name, parameters
from kernelwright.nests.normal import normal
from kernelwright.nests.reader import read_nest
from kernelwright.nests.rewritings import UNFORESEEN
from kernelwright.nests.signature import Parameter, Signature, UnreadableError, read_signature
from kernelwright.nests.syntax import field, text
from kernelwright.tasks.files import read_text

PRIMES = (1009, 2003, 3001, 4001, 5003, 6007, 7001, 8009)
USUAL, FEW = 1024, 10
"""What a size is set to: of an array, and of what is only counted, such as time steps."""
NEAR = 0.02
"""Of the places that an array has, how many a border may leave untouched."""
WHOLE = ("int32", "int64")


def skeleton(path: Path, function: str = "") -> str:
    """TOML that makes the file a task once its open places are filled in; each says `fill in`.

    Raises:
        TaskError: there is no such function, or it takes what no array can be.
    """
    code, dialect = read_text(path, "task"), "c" if path.suffix == ".c" else "cpp"
    try:
        signature = read_signature(code, dialect, function)
    except UnreadableError as error:
        raise TaskError(f"task {str(path)!r} {error}") from None
    try:
        return _Skeleton(_nest(code, dialect, signature), signature).text()
    except UNFORESEEN as error:
        why = f"has a form that the reader does not know: write its TOML by hand ({error})"
        raise TaskError(f"task {str(path)!r} {why}") from error


def touched(code: str, dialect: str, signature: Signature) -> tuple[set[str], set[str]]:
    """The pointers through which the function writes, and those that it reads before."""
    try:
        nest = _nest(code, dialect, signature)
    except UNFORESEEN:
        # What the reader cannot read may write through every pointer that it is allowed to.
        return {p.name for p in signature.parameters if p.pointer and not p.constant}, set()
    names = _names(nest, signature)
    written = {names.get(a.array.split(".")[0], a.array) for a in nest.accesses if a.write}
    first: dict[str, bool] = {}
    for access in nest.accesses:
        first.setdefault(names.get(access.array.split(".")[0], access.array), access.write)
    written |= {names.get(array, array) for array in nest.mixed}
    if "?" in written:
        written |= {p.name for p in signature.parameters if p.pointer and not p.constant}
    return written, {array for array, write in first.items() if not write}


def _nest(code: str, dialect: str, signature: Signature) -> Nest:
    whole = f"{code.rstrip()}\n\n{signature.wrapper}"
    plain = normal(preprocessed(whole, dialect)[1], signature.function)
    return read_nest(plain, signature.function, dict(_primes(signature)))


def _primes(signature: Signature) -> Iterator[tuple[str, int]]:
    sizes = [p for p in signature.parameters if not p.pointer and p.dtype in WHOLE]
    return ((p.name, prime) for p, prime in zip(sizes, PRIMES, strict=False))


def _names(nest: Nest, signature: Signature) -> dict[str, str]:
    """By what the code calls a parameter, its name."""
    inner = [text(declared_name(field(p, "declarator"))) for p in parameters(nest.function)]
    return dict(zip(inner, (p.name for p in signature.parameters), strict=True))


class _Skeleton:
    def __init__(self, nest: Nest, signature: Signature) -> None:
        self.nest, self.signature = nest, signature
        self.sizes = dict(_primes(signature))
        self.names = {new: old for old, new in _names(nest, signature).items()}
        self.shapes = {p.name: self.shape(p) for p in signature.parameters if p.pointer}

    def text(self) -> str:
        """The whole TOML."""
        lengths = {p.name for p in self.signature.parameters if p.length_of}
        named = {word for shape in self.shapes.values() for extent in shape or () for word in str(extent).split()}
        lines = ['description = ""  # fill in', "", "[sizes]"]
        for name in (n for n in self.sizes if n in named or n not in lengths):
            lines.append(f"{name} = {USUAL if name in named else FEW}  # fill in")
        return "\n".join([*lines, "", "[arguments]", *filter(None, map(self.argument, self.signature.parameters)), ""])

    def argument(self, one: Parameter) -> str:
        """Its line."""
        if not one.pointer:
            known = one.name in self.sizes or one.length_of
            return "" if known else f"{one.name} = {{ value = 1.0 }}  # fill in"
        if one.name == "result" and self.shapes[one.name] in (None, [1]):
            return ""
        shape, open_ = self.shapes[one.name], ""
        if shape is None:
            shape, open_ = ["?"], "  # fill in: nobody can see how long it is"
        extents = ", ".join(str(e) if isinstance(e, int) else f'"{e}"' for e in shape)
        said = [f"shape = [{extents}]", *self.values(one)]
        return f"{one.name} = {{ {', '.join(said)} }}{open_}"

    def values(self, one: Parameter) -> list[str]:
        """Whether it is written, and what it holds."""
        own = [a for a in self.nest.accesses if a.array.split(".")[0] == self.names[one.name]]
        mixed = self.nest.mixed
        written = any(a.write for a in own) or self.names[one.name] in mixed
        found = ["out = false"] if not written and not one.constant else []
        found += ["inout = true"] if written and (mixed or not own[0].write) else []
        into = next((a for a in self.nest.accesses if any(self._within(b, a) for b in own)), None)
        if one.dtype in WHOLE and into is not None and not written:
            shape = self.shapes.get(_names(self.nest, self.signature).get(into.array.split(".")[0], ""))
            found += ['values = "index"', f'bound = "{shape[0] if shape else "?"}"']
        elif not written and any(self._positive(a) for a in own):
            found.append('values = "positive"')
        return found

    def _within(self, inner: Access, outer: Access) -> bool:
        one, two = inner.node, outer.node
        return one != two and two.start_byte < one.start_byte and one.end_byte <= two.end_byte

    def _positive(self, access: Access) -> bool:
        """Whether a root, a logarithm or a quotient is taken of it."""
        inner, outer = access.node, access.node.parent
        if outer is not None and outer.type == "binary_expression":
            return text(field(outer, "operator")) == "/" and field(outer, "right") == inner
        call = outer.parent if outer is not None else None
        called = text(field(call, "function")) if call is not None and call.type == "call_expression" else ""
        return called.removeprefix("std::").rstrip("f") in ("sqrt", "log", "log2", "log10", "pow")

    def shape(self, one: Parameter) -> list[str | int] | None:
        """Its extents; None: nobody can see them."""
        own = [a for a in self.nest.accesses if a.array.split(".")[0] == self.names[one.name]]
        tops = [top for top in map(_top, own) if top is not None]
        if not tops:
            return None
        places = max(tops) + 1
        factors = {abs(f) for a in own if a.place for f in a.place.factors.values()}
        return self._extents(places, factors)

    def _extents(self, places: int, factors: set[int]) -> list[str | int] | None:
        names = list(self.sizes)
        products = [c for r in range(1, 4) for c in combinations_with_replacement(names, r)]
        worth = {c: prod(self.sizes[name] for name in c) for c in products}
        fits = [c for c in products if places <= worth[c] <= places * (1 + NEAR)]
        if fits:
            return self._ordered(min(fits, key=lambda c: worth[c] - places), factors)
        over = [c for c in products if 0 < places - worth[c] <= 64]
        if over:
            return [f"{' * '.join(over[0])} + {places - worth[over[0]]}"]
        return [places] if places < PRIMES[0] or not names else None

    def _ordered(self, found: tuple[str, ...], factors: set[int]) -> list[str | int]:
        """The order in which the inner extents are the steps of the subscripts."""

        def steps(order: tuple[str, ...]) -> int:
            return sum(prod(self.sizes[name] for name in order[k:]) in factors for k in range(1, len(order)))

        orders: list[tuple[str, ...]] = list(permutations(found))
        return [*max(orders, key=steps)]


def _top(access: Access) -> int | None:
    """The largest place; None: nobody knows."""
    if access.place is None or any(one.low is None or one.high is None for one in access.loops):
        return None
    inner = [one.variable for one in access.loops]
    asked = [*bounds(access.loops), *access.guards, f"e = {access.place}"]
    exists = f"exists {', '.join(inner)} : " if inner else ""
    places = islpy.Set(f"{{ [e] : {exists}{' and '.join(asked)} }}")
    return None if places.is_empty() else int(places.dim_max_val(0).to_python())
