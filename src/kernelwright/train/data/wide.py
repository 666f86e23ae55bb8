"""Random modules of many kinds, by seed: what networks are made of, one or a few operations each, in one to four dimensions.

`modules.py` draws chains on matrices; a policy that has seen nothing else knows neither a loss nor a pooling. A kind is a
function of `KINDS` that says inputs and lines. Sizes are small enough for an interpreter, sometimes odd or longer than a tile.
"""

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from kernelwright.records.task import TaskSource
from kernelwright.train.data.modules import CONSTANTS, NAMES, TEMPLATE, UNARY
from kernelwright.train.data.spellings import table

TABLE = table("wide")
MORE = TABLE["more"]
LOSSES = TABLE["losses"]
ALONG = TABLE["along"]
NORMS = TABLE["norms"]
SCANS = TABLE["scans"]
PRODUCTS = TABLE["products"]
HALVES = "first, second = {0}.chunk(2, dim=-1)"
GATES = TABLE["gates"]
MOVES = TABLE["moves"]
BROADCAST = TABLE["broadcast"]
EXTENTS = (3, 5, 7, 8, 12, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 100, 128, 200, 256, 300, 512, 1000, 1024, 2048, 4096)
MOST = 40_000
"""Elements of an input."""
SHORT = 64
"""Of a side of a product."""


class Drawn(NamedTuple):
    """What a kind makes of chance."""

    shapes: Sequence[Sequence[int]]
    """Of the inputs."""
    lines: Sequence[str]
    """Patterns: `{0}` is the value so far, `{1}` the second input. Those with an assignment stay as they are."""


def wide_module(seed: int) -> TaskSource:
    """The module of a seed."""
    draw = random.Random(f"wide {seed}")
    kind: Callable[[random.Random], Drawn] = draw.choices(KINDS, WEIGHTS)[0]
    shapes, patterns = kind(draw)
    names = draw.choice(NAMES)[: len(shapes)]
    lines, value = list[str](), names[0]
    for number, pattern in enumerate(patterns):
        other = names[1] if len(names) > 1 else value
        text = pattern.format(value, other, c=draw.choice(CONSTANTS))
        if " = " not in pattern:
            value = f"v{number}"
            text = f"{value} = {text}"
        lines.append(text)
    dtype = draw.choices(("", ", dtype=torch.float16", ", dtype=torch.bfloat16"), (8, 1, 1))[0]
    *earlier, last = lines
    body = "\n".join(f"        {line}" for line in [*earlier, "return " + last.partition(" = ")[2]])
    inputs = ", ".join(f"torch.randn({', '.join(map(str, shape))}{dtype})" for shape in shapes)
    return TaskSource(
        name=f"wide_{seed}",
        format="kernelbench",
        source=TEMPLATE.format(arguments=", ".join(names), body=body, inputs=inputs),
    )


def _shape(draw: random.Random, dimensions: int) -> list[int]:
    """One that an interpreter can bear."""
    for _ in range(200):
        found = [draw.choice(EXTENTS) for _ in range(dimensions)]
        if prod(found) <= MOST:
            return found
    return [4] * dimensions


def _around(draw: random.Random, line: str, before: float = 0.3, behind: float = 0.3) -> list[str]:
    """The line, perhaps with a pointwise operation on either side."""
    first = [draw.choice(UNARY + MORE)] if draw.random() < before else []
    return [*first, line, *([draw.choice(UNARY + MORE)] if draw.random() < behind else [])]


def _at(draw: random.Random, pattern: str, dimensions: int) -> str:
    """The pattern along a dimension by chance, the last one most often."""
    chosen = -1 if draw.random() < 0.4 else draw.randrange(dimensions)
    return pattern.replace("{d}", str(chosen))


def pointwise(draw: random.Random) -> Drawn:
    """One to four operations on a tensor."""
    return Drawn([_shape(draw, draw.randint(1, 4))], draw.choices(UNARY + MORE * 2, k=draw.choice((1, 1, 2, 3, 4))))


def broadcast(draw: random.Random) -> Drawn:
    """Two tensors, of which one has fewer elements."""
    shape = _shape(draw, draw.randint(2, 4))
    other = draw.choice((shape[-1:], [1] * (len(shape) - 1) + shape[-1:], [*shape[:-1], 1], shape))
    return Drawn([shape, other], [draw.choice(BROADCAST), *draw.choices(UNARY + MORE, k=draw.randint(0, 2))])


def reduction(draw: random.Random) -> Drawn:
    """Along one dimension."""
    shape = _shape(draw, draw.randint(1, 4))
    whole = (_at(draw, draw.choice(ALONG), len(shape)), "torch.sum({0})", "torch.mean({0})", "torch.amax({0})")
    return Drawn([shape], _around(draw, draw.choices(whole, (8, 1, 1, 1))[0], behind=0.0))


def norm(draw: random.Random) -> Drawn:
    """Every element by what its row has."""
    shape = _shape(draw, draw.randint(2, 4))
    return Drawn([shape], _around(draw, _at(draw, draw.choice(NORMS), len(shape))))


def scan(draw: random.Random) -> Drawn:
    """Running sums and products."""
    shape = _shape(draw, draw.randint(1, 3))
    return Drawn([shape], _around(draw, _at(draw, draw.choice(SCANS), len(shape)), behind=0.15))


def loss(draw: random.Random) -> Drawn:
    """Of two tensors of one shape."""
    shape = _shape(draw, draw.randint(1, 3))
    return Drawn([shape, shape], [draw.choice(LOSSES)])


def product(draw: random.Random) -> Drawn:
    """Of matrices, and what follows it."""
    pattern, *operands = draw.choice(PRODUCTS)
    sizes = {letter: draw.choice([e for e in EXTENTS if e <= SHORT]) for letter in "mkn"} | {
        "b": draw.choice((2, 3, 4))
    }
    return Drawn(
        [[sizes[letter] for letter in each] for each in operands], _around(draw, pattern, before=0.0, behind=0.5)
    )


def pooling(draw: random.Random) -> Drawn:
    """Windows of one or two dimensions."""
    size, kind = draw.choice((1, 2)), draw.choice(("max", "avg"))
    window, stride = draw.randint(2, 4), draw.randint(1, 3)
    padding = draw.choice((0, 0, 1))
    extents = [
        draw.choice((2, 3, 4, 8)),
        draw.choice((2, 3, 4, 8)),
        *(draw.choice((12, 16, 17, 24, 32)) for _ in range(size)),
    ]
    line = f"F.{kind}_pool{size}d({{0}}, {window}, stride={stride}, padding={padding})"
    return Drawn([extents], _around(draw, line, before=0.1))


def gate(draw: random.Random) -> Drawn:
    """One half of the features by the other."""
    shape = _shape(draw, draw.randint(1, 3))
    shape[-1] += shape[-1] % 2
    return Drawn([shape], [HALVES, draw.choice(GATES)])


def move(draw: random.Random) -> Drawn:
    """Elements in other places."""
    return Drawn([_shape(draw, draw.randint(2, 4))], _around(draw, draw.choice(MOVES), before=0.5, behind=0.5))


KINDS = (pointwise, broadcast, reduction, norm, scan, loss, product, pooling, gate, move)
WEIGHTS = (22, 12, 16, 16, 6, 8, 8, 6, 3, 3)
