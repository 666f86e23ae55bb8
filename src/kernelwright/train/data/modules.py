"""Random modules, by seed: chains of pointwise operations around at most one row operation and one total.

They are of the kind that fusion is good for, and that the built-in author writes. `depth` is the curriculum's measure.
Everything follows from the seed, so that a data set can be made again.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.records.task import TaskSource
from kernelwright.train.data.spellings import table

TABLE = table("modules")
UNARY = TABLE["unary"]
BINARY = TABLE["binary"]
ROWS = TABLE["rows"]
REDUCTIONS = TABLE["reductions"]
TOTALS = ("torch.mean({0})", "torch.sum({0})")
CONSTANTS = ("0.1", "0.5", "1.0", "1.5", "2.0", "3.0")
NAMES = (("x", "y", "z"), ("a", "b", "c"), ("predictions", "targets", "weight"), ("input", "other", "third"))
COLUMNS = (32, 48, 64, 96, 128, 160, 192, 256, 384, 512)
ROW_COUNTS = (8, 12, 16, 24, 32, 48, 64)
DTYPES = ("", ", dtype=torch.float16", ", dtype=torch.bfloat16")
DTYPE_WEIGHTS = (8, 1, 1)
TEMPLATE = (Path(__file__).parent / "parts/module.py.txt").read_text(encoding="utf-8")


@dataclass
class _Module:
    draw: random.Random
    names: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    value: str = ""

    def put(self, pattern: str, other: str = "") -> None:
        """One operation more, in a line of its own."""
        constant = self.draw.choice(CONSTANTS)
        text = pattern.format(self.value, other, c=constant)
        self.value = f"v{len(self.lines)}"
        self.lines.append(f"{self.value} = {text}")


def random_module(seed: int, depth: int | None = None, rows: int = 0, columns: int = 0) -> TaskSource:
    """The module of a seed.

    Args:
        seed: Everything follows from it.
        depth: About how many operations; None: drawn, 1 to 6.
        rows: Rows of every input; 0: drawn, few enough for an interpreter.
        columns: Likewise of columns.
    """
    draw = random.Random(seed)
    names = draw.choice(NAMES)[: draw.choices((1, 2, 3), (3, 4, 1))[0]]
    made = _Module(draw, names, value=names[0])
    _fill(made, depth or draw.randint(1, 6))
    # From a generator of its own, so that structures and sizes of a seed stay what they were.
    dtype = random.Random(f"dtype {seed}").choices(DTYPES, DTYPE_WEIGHTS)[0]
    size = f"{rows or draw.choice(ROW_COUNTS)}, {columns or draw.choice(COLUMNS)}{dtype}"
    *earlier, last = made.lines
    body = "\n".join(f"        {line}" for line in [*earlier, "return " + last.partition(" = ")[2]])
    text = TEMPLATE.format(
        arguments=", ".join(names), body=body, inputs=", ".join(f"torch.randn({size})" for _ in names)
    )
    return TaskSource(name=f"module_{seed}", format="kernelbench", source=text)


def _fill(made: _Module, depth: int) -> None:
    """Join all inputs, then so many operations: pointwise ones, and perhaps a row operation and a reduction at the end."""
    draw = made.draw
    whole_row, reduced = draw.random() < 0.35, draw.random() < 0.45
    waiting = list(made.names[1:])
    for step in range(max(depth, len(made.names))):
        if waiting and (len(waiting) >= depth - step or draw.random() < 0.6):
            made.put(draw.choice(BINARY), waiting.pop(0))
        elif whole_row and draw.random() < 0.4:
            made.put(draw.choice(ROWS))
            whole_row = False
        else:
            made.put(draw.choice(UNARY))
    if reduced or not made.lines:
        made.put(draw.choice(REDUCTIONS if draw.random() < 0.7 else TOTALS))
