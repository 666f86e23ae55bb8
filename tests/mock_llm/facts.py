"""Which facts of a run stand in a prompt, and their figures, as somebody reads them who is not told what helps.

Nothing that is answered depends on them: they are in each line of what was served, so that a test can hold them against the
records that they come from.
"""

import json
import re
from collections.abc import Iterator

from kernelwright.records.base import Record
from mock_llm.prompt import Prompt, blocks

TIME = re.compile(r"^- (?P<name>[\w.,: -]+?): (?P<us>[\d.]+) us a call$", re.MULTILINE)
FLOOR = re.compile(r"a call of less than ([\d.]+) us is taken")
TOLERANCE = re.compile(r"that is allowed, in the strictest case \([^)]*\): ([\d.e+-]+)")
PAIR = 2
"""Blocks of an example: a module, and a kernel for it."""


class Facts(Record):
    """What a prompt tells beside the task and the code."""

    times_us: dict[str, float]
    """Of the baselines, by name."""
    floor_us: float | None
    tolerance: float | None
    example: bool
    """Whether a module and a kernel for it are shown."""
    loops: tuple[int, ...]
    """Vector widths of the innermost loops that a profile tells."""


def facts_in(prompt: Prompt) -> Facts:
    """The facts of a request."""
    figures = "\n".join(s.body for s in prompt.sections if s.title == "figures")
    examples = [s.body for s in prompt.sections if s.title == "example"]
    floor, tolerance = FLOOR.search(figures), TOLERANCE.search(figures)
    return Facts(
        times_us={found["name"]: float(found["us"]) for found in TIME.finditer(figures)},
        floor_us=float(floor[1]) if floor else None,
        tolerance=float(tolerance[1]) if tolerance else None,
        example=any(len(blocks(body)) == PAIR for body in examples),
        loops=tuple(_loops(prompt)),
    )


def _loops(prompt: Prompt) -> Iterator[int]:
    for section in prompt.sections:
        for block in blocks(section.body) if section.title == "profile" else []:
            try:
                found = json.loads(block)
            except ValueError:
                continue
            told = found.get("loops", []) if isinstance(found, dict) else []
            yield from (int(loop["vector_bits"]) for loop in told)
