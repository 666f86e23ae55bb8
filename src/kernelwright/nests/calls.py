"""Calls within a loop: which of them do nothing but compute."""

from tree_sitter import Node

from kernelwright.nests.events import variable_of, writes
from kernelwright.nests.loops import Nest
from kernelwright.nests.names import declarators, declared, declared_name, declared_names
from kernelwright.nests.syntax import base_of, called, field, functions, parse, text, walk

_NAMES = """sqrt rsqrt cbrt
exp exp2 expm1 log log2 log10 log1p pow sin cos tan asin acos atan atan2 sinh cosh tanh fabs abs labs
floor ceil round trunc rint fmod fmin fmax min max hypot erf erfc copysign isnan isinf isfinite fma
lround sizeof static_cast float double int long unsigned bool size_t
numeric_limits tgamma lgamma signbit clamp"""
PURE = frozenset(f"{name}{end}" for name in _NAMES.split() for end in ("", "f", "l"))
"""Functions of the standard library that do nothing but compute."""


def impure(nest: Nest, node: Node) -> str:
    """A call within that nobody has looked into, or `asm`; empty: there is none."""
    known = functions(parse(nest.code))
    own = declared_names(nest.function)
    for call in walk(node, "call_expression"):
        name = called(call)
        if name in own:
            return name
        if name in known and not _harmless(nest.code, name, ()):
            return name
        if name not in known and name not in PURE:
            return name
    return next(
        (n.type for n in walk(node, "gnu_asm_expression", "new_expression", "delete_expression", "lambda_expression")),
        "",
    )


def _harmless(code: str, name: str, above: tuple[str, ...]) -> bool:
    """Whether a function of the file writes nothing but its own variables, and calls none that does."""
    known = functions(parse(code))
    if name in above:
        return False
    body, made = field(known[name], "body"), list(declared(known[name]))
    bare_names = {text(n) for _, d, n in made if not any(walk(d, "reference_declarator"))}
    arrays = {
        text(n) for _, d, n in declared(body) if "[" in text(d).split("=")[0] and "*" not in text(d).split("=")[0]
    }
    if any(_root(p, arrays) not in bare_names for p, _, _ in writes(known[name])) or _remembers(code, name):
        return False
    if any("static" in text(d).split() for d, _, _ in declared(body)):
        return False
    for call in walk(body, "call_expression"):
        callee = called(call)
        if callee not in PURE and (callee not in known or not _harmless(code, callee, (*above, name))):
            return False
    return True


def _root(place: Node, arrays: set[str]) -> str:
    """The variable that a place belongs to; empty: a pointer leads to it."""
    base = text(base_of(place))
    return base if base in arrays else variable_of(place)


def _remembers(code: str, name: str) -> bool:
    """Whether a function speaks of a variable outside of functions that may change."""
    outside = [d for d in parse(code).named_children if d.type == "declaration"]
    changing = {
        text(declared_name(one))
        for d in outside
        if not {"const", "constexpr"} & set(text(d).split())
        for one in declarators(d)
        if not any(walk(one, "function_declarator"))
    }
    return any(text(i) in changing for i in walk(field(functions(parse(code))[name], "body"), "identifier"))
