"""What a function is read as: loops, and the places in memory that they touch.

A place is an array and a linear subscript over the variables of the loops around it. Sizes are numbers here: a task has
them, so `i * n + j` is linear.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as of

from tree_sitter import Node

from kernelwright.nests.heads import Head
from kernelwright.nests.syntax import JUMPS, LOOPS, field, walk

ANYWHERE = "?"
"""The array of a pointer that may point into any."""


@dataclass(frozen=True)
class Linear:
    """A sum of loop variables, each with a whole factor, and a number. A quotient of one is a variable too, under its text."""

    factors: Mapping[str, int] = of(default_factory=dict)
    constant: int = 0

    def plus(self, other: "Linear", times: int = 1) -> "Linear":
        """The sum with a multiple of another one."""
        both = {v: self.factors.get(v, 0) + times * other.factors.get(v, 0) for v in (*self.factors, *other.factors)}
        return Linear({v: f for v, f in both.items() if f}, self.constant + times * other.constant)

    def __str__(self) -> str:
        return "(" + " + ".join([*(f"{f}*{v}" for v, f in self.factors.items()), str(self.constant)]) + ")"


Value = Linear | None


@dataclass(eq=False)
class Loop:
    """One loop of the nest."""

    node: Node
    head: Head | None
    """None: nobody can say how often it runs."""
    parent: "Loop | None"
    low: Value = None
    high: Value = None
    """What the variable stays below, or above where it counts down."""
    children: "list[Loop]" = of(default_factory=list)

    @property
    def variable(self) -> str:
        """How constraints name its variable."""
        return f"v{self.node.start_byte}"

    @property
    def around(self) -> "tuple[Loop, ...]":
        """The loops around it and itself, the outermost first."""
        return (*(self.parent.around if self.parent else ()), self)

    @property
    def passes(self) -> int | None:
        """How often it runs, where that is one number."""
        if self.head is None or self.low is None or self.high is None:
            return None
        span = self.high.plus(self.low, -1)
        return None if span.factors else max(0, -(-span.constant // self.head.step))


@dataclass(frozen=True, eq=False)
class Access:
    """One reading or writing of an array."""

    array: str
    place: Value
    write: bool
    node: Node
    loops: tuple[Loop, ...]
    guards: tuple[str, ...]
    """Conditions under which it is reached, over the variables of its loops."""
    unit: str = ""
    """The type that subscripts count in; empty: nobody knows."""

    @property
    def root(self) -> str:
        """The array without the names of members: `a` of `a.x`."""
        return self.array.split(".")[0]

    def meets(self, other: "Access") -> bool:
        """Whether both may be of one array: the same, one a member of the other, or one anywhere."""
        one, two = f"{self.array}.", f"{other.array}."
        return one.startswith(two) or two.startswith(one) or ANYWHERE in (self.array, other.array)


@dataclass(eq=False)
class Nest:
    """All of a function."""

    code: str
    function: Node
    loops: list[Loop] = of(default_factory=list)
    """The outermost ones, in the order of the text."""
    accesses: list[Access] = of(default_factory=list)
    local_arrays: dict[str, Node] = of(default_factory=dict)
    """Arrays of the function's own, with their declarators."""
    extents: dict[str, tuple[int | None, ...]] = of(default_factory=dict)
    """Of the arrays of the function's own."""
    mixed: set[str] = of(default_factory=set)
    """Arrays whose pointers are swapped: any of them may be any other."""
    sizes: dict[str, int] = of(default_factory=dict)
    """What is passed by value, where it is a whole number."""

    @property
    def all_loops(self) -> list[Loop]:
        """Every loop, outer before inner."""
        found, queue = list[Loop](), list(self.loops)
        while queue:
            found.append(one := queue.pop(0))
            queue = [*one.children, *queue]
        return found


def jumps(loop: Loop) -> bool:
    """Whether something leaves the loop before its end."""
    body = field(loop.node, "body")
    inner = list(walk(body, *LOOPS, "switch_statement"))

    def within(one: Node) -> bool:
        return one.type == "break_statement" and any(n.start_byte <= one.start_byte < n.end_byte for n in inner)

    return any(not within(one) for one in walk(body, *JUMPS))
