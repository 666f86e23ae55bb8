"""Which of a few kernels serves which sizes: a small tree of comparisons of axes, learnt from sizes at which that is known."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.tasks.free_axes import Sizes

Known = tuple[Sizes, frozenset[int]]
"""Sizes, and the kernels that may serve them."""


@dataclass(frozen=True)
class Fork:
    """One way below a size of an axis, another from there on."""

    axis: str
    begin: int
    below: "Choice"
    above: "Choice"


Choice = int | Fork
ORIGINAL = -1
"""In place of a kernel: PyTorch's own operation."""


def choice(known: Sequence[Known], ask: Callable[[Sizes], frozenset[int]]) -> Choice:
    """A tree that gives each of these sizes a kernel that may serve it; `ask` says which ones may serve others."""
    common = frozenset.intersection(*(which for _, which in known))
    if common:
        return min(common)
    axis, below, above = min(_parts(known), key=lambda part: _mixed(part[1]) + _mixed(part[2]))
    return Fork(axis, _begin(axis, below, above, ask), choice(below, ask), choice(above, ask))


def _parts(known: Sequence[Known]) -> Iterator[tuple[str, list[Known], list[Known]]]:
    """Ways to part them by one axis."""
    for axis in known[0][0]:
        for size in sorted({sizes[axis] for sizes, _ in known})[1:]:
            yield axis, [k for k in known if k[0][axis] < size], [k for k in known if k[0][axis] >= size]


def _begin(axis: str, below: Sequence[Known], above: Sequence[Known], ask: Callable[[Sizes], frozenset[int]]) -> int:
    """The least size of an axis that the kernels above it serve, sought between the two nearest sizes."""
    low = max(sizes[axis] for sizes, _ in below)
    sizes, which = min(above, key=lambda one: one[0][axis])
    high = sizes[axis]
    while high - low > 1:
        middle = (low + high) // 2
        if ask({**sizes, axis: middle}) & which:
            high = middle
        else:
            low = middle
    return high


def _mixed(known: Sequence[Known]) -> int:
    """How many of them the kernel does not serve that serves most."""
    count = Counter(kernel for _, which in known for kernel in which)
    return len(known) - max(count.values(), default=0)


def directives(chosen: Choice, texts: Sequence[str], names: Mapping[str, str]) -> str:
    """The texts behind the preprocessor's conditions; `names` has each axis's macro."""
    if isinstance(chosen, int):
        return texts[chosen] if chosen != ORIGINAL else '#error "PyTorch itself serves these sizes"'
    below, above = (directives(part, texts, names) for part in (chosen.below, chosen.above))
    return f"#if {names[chosen.axis]} < {chosen.begin}\n{below}\n#else\n{above}\n#endif\n"


def statements(chosen: Choice, indent: str = "    ") -> str:
    """The choice as Python that returns the kernel's number."""
    if isinstance(chosen, int):
        return f"{indent}return {chosen}"
    inner = indent + "    "
    return "\n".join(
        [
            f"{indent}if {chosen.axis} < {chosen.begin}:",
            statements(chosen.below, inner),
            statements(chosen.above, indent),
        ]
    )


def served(chosen: Choice, sizes: Sizes) -> int:
    """The kernel that serves these sizes."""
    while not isinstance(chosen, int):
        chosen = chosen.below if sizes[chosen.axis] < chosen.begin else chosen.above
    return chosen


def conditions(chosen: Choice, which: int) -> list[str]:
    """Comparisons of axes that hold where one kernel serves, such as `m < 16 and n >= 4`; of all sizes `0 < 1`."""
    if isinstance(chosen, int):
        return ["0 < 1"] if chosen == which else []
    ways = ((f"{chosen.axis} < {chosen.begin}", chosen.below), (f"{chosen.axis} >= {chosen.begin}", chosen.above))
    return [
        f"{here} and {more}" if more != "0 < 1" else here for here, part in ways for more in conditions(part, which)
    ]
