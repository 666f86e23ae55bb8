"""Candidates of a task that are known by a number: right ones by the author, wrong ones by two makers of faults.

A prefix of the numbers is a fair mixture. `drill` has the mock server's faults of content at its rate, in text that
nothing gives away: no label, neutral identifiers, constants that differ. `mutant` is another maker, which no training
sees when it is tested on: one operator or number of the work is changed.
"""

import random
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import cpp_default, cpp_space, triton_default, triton_space
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task
from mock_llm.breakage import WRONG, broken
from mock_llm.faults import BROKEN, drawn

Maker = Literal["author", "drill", "mutant"]
CYCLE: tuple[Maker, ...] = (
    "author", "drill", "author", "author", "drill", "mutant", "author", "drill", "author", "drill",
)  # fmt: skip
"""Four in nine of what is not a mutant are faulty, as the drill's replies are at its rate."""
PLACEHOLDER = re.compile(r"drill_missing_\w+")
NAMES = ("scale", "bias", "inverse", "total", "weight", "row_mean", "offset", "gain")
SWAPS: dict[str, tuple[str, ...]] = {
    " + ": (" - ", " * "), " - ": (" + ",), " * ": (" + ", " / "), " / ": (" * ",), " < ": (" <= ",), " += ": (" -= ",),
    "maximum(": ("minimum(",), "std::max": ("std::min",), "tl.sum(": ("tl.max(",), "tl.max(": ("tl.min(",),
    "axis=1": ("axis=0",), "tl.exp(": ("tl.log(",),
}  # fmt: skip
FLOAT = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?=f?\b)")
TRIES = 30


class Drawn(NamedTuple):
    """One candidate."""

    number: int
    maker: Maker
    fault: str
    """As the maker calls it; empty for the author's."""
    candidate: Candidate


def candidates(task: Task, count: int) -> Iterator[Drawn]:
    """The first `count` of a task, no two alike, the same at every call."""
    write, seen = writer(task), set[str]()
    for number in range(count):
        for attempt in range(TRIES):
            draw = drawn(attempt, "predictor", task.name, str(number))
            found = made(number, CYCLE[number % len(CYCLE)], write(draw), draw)
            if found is not None and found.candidate.id not in seen:
                seen.add(found.candidate.id)
                yield found
                break


def writer(task: Task) -> Callable[[random.Random], Candidate]:
    """Writes the task's kernel with some dials, or all, at drawn values; tunables at the first of theirs."""
    plan = lower(task)
    if task.target.kind == "cpu":
        space, home = cpp_space(plan), cpp_default(plan)

        def cpp(draw: random.Random) -> Candidate:
            some = draw.randint(1, len(space.options))
            return next(write_cpp(plan, space.scattered(home, draw.getrandbits(32), some)).points())

        return cpp
    grid, begin = triton_space(plan), triton_default(plan)

    def triton(draw: random.Random) -> Candidate:
        some = draw.randint(1, len(grid.options))
        return next(write_triton(task, plan, grid.scattered(begin, draw.getrandbits(32), some)).points())

    return triton


def made(number: int, maker: Maker, candidate: Candidate, draw: random.Random) -> Drawn | None:
    """The author's candidate as its maker leaves it; None where it finds no place for a fault."""
    if maker == "author":
        return Drawn(number, maker, "", candidate)
    cpp = candidate.language == "cpp"
    spoiled = _drilled(candidate.source, cpp, draw) if maker == "drill" else _mutated(candidate.source, cpp, draw)
    if spoiled is None:
        return None
    source, fault = spoiled
    return Drawn(number, maker, fault, candidate.model_copy(update={"source": source}))


def _drilled(source: str, cpp: bool, draw: random.Random) -> tuple[str, str] | None:
    found = broken(source, cpp, draw.choice(BROKEN), draw)
    if found is None:
        return None
    free = [name for name in NAMES if not re.search(rf"\b{name}\b", source)]
    text = PLACEHOLDER.sub(lambda _: draw.choice(free), found.source)
    constant = f"{1 + draw.choice((-1, 1)) * draw.uniform(0.01, 0.3):.4f}"
    return re.sub(rf"(?<![\w.]){re.escape(WRONG)}(?=f? \* \()", constant, text), found.fault.kind


def _mutated(source: str, cpp: bool, draw: random.Random) -> tuple[str, str] | None:
    """One operator or constant changed, after the line where the work begins."""
    head = 'extern "C"' if cpp else "def _kernel("
    start = source.find(head)
    start = source.find("\n", start) if start >= 0 else 0
    places = [
        (match.start(), old, new) for old, news in SWAPS.items() for new in news
        for match in re.finditer(re.escape(old), source) if match.start() > start and _works(source, match.start())
    ]  # fmt: skip
    places += [
        (match.start(), match.group(), f"{float(match.group()) * draw.uniform(1.05, 2) + 0.01:.6f}")
        for match in FLOAT.finditer(source)
        if match.start() > start and _works(source, match.start())
    ]
    if not places:
        return None
    at, old, new = draw.choice(sorted(places))
    return source[:at] + new + source[at + len(old) :], f"{old.strip()} to {new.strip()}" if old in SWAPS else "number"


def _works(source: str, at: int) -> bool:
    """Whether a place lies in a line that computes: no comment, no signature, and no loop, which might never end."""
    line = source[source.rfind("\n", 0, at) + 1 : source.find("\n", at)].strip()
    return not line.startswith(("for ", "//", "#")) and (" = " in line or " += " in line or line.startswith("tl.store"))
