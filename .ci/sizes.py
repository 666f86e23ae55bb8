"""Sizes: a module has at most 500 lines, a function 60, and every room (a package) what `.ci/sizes.toml` grants it.

    python .ci/sizes.py               names what is too long; the status is 1 if there is anything
    python .ci/sizes.py --write       lowers the lines of rooms that have become smaller
    python .ci/sizes.py --raise WHY   grants the rooms that have grown what they need, and writes down what for

A file counts for the room with the longest path that it lies in. A room may have its `lines` and those of its `rises`, each of
which says why. `most` bounds `src` as a whole; no command raises it.
"""

import argparse
import ast
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MODULE_LINES = 500
FUNCTION_LINES = 60
SHORT = ("src", "benchmarks", ".ci")
"""Folders whose modules and functions are bounded."""
UNCOUNTED = "src/kernelwright/knowledge/techniques/cards/"
"""Technique cards: data that happens to be Python."""
HEAD = "# Lines of Python a room. How they fall and rise: CONTRIBUTING.md, and the head of sizes.py.\n"


class Rise(NamedTuple):
    """Lines that a room was granted beside its own."""

    room: str
    lines: int
    why: str


class Budget(NamedTuple):
    """What `.ci/sizes.toml` says."""

    most: int
    """Lines of `src` without technique cards."""
    lines: dict[str, int]
    """By room."""
    rises: list[Rise]

    def of(self, room: str) -> int:
        """Lines that a room may have."""
        return self.lines[room] + sum(rise.lines for rise in self.rises if rise.room == room)


def main(arguments: list[str]) -> int:
    """Answer a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--raise", dest="why", metavar="WHY")
    asked = parser.parse_args(arguments)
    record = asked.root / ".ci" / "sizes.toml"
    budget, counts = read(record), counted(asked.root)
    if asked.why is not None:
        if not asked.why.strip():
            parser.error("--raise needs a reason")
        budget = raised(budget, counts, asked.why.strip())
    if asked.write:
        budget = lowered(budget, counts)
    if asked.write or asked.why:
        record.write_text(written(budget), "utf-8")
    found = [*beyond(budget, counts)]
    for folder in SHORT:
        for path in sorted((asked.root / folder).rglob("*.py")):
            found += too_long(path, path.relative_to(asked.root))
    sys.stderr.writelines(f"{line}\n" for line in found)
    return int(bool(found))


def read(record: Path) -> Budget:
    """The budget; a rise without a reason is none."""
    found = tomllib.loads(record.read_text("utf-8"))
    rises = [Rise(one["room"], one["lines"], one.get("why", "").strip()) for one in found.get("rises", [])]
    return Budget(found["most"], found["lines"], [rise for rise in rises if rise.why and rise.room in found["lines"]])


def written(budget: Budget) -> str:
    """The budget as the file says it."""
    rooms = "".join(f"{json.dumps(room)} = {lines}\n" for room, lines in sorted(budget.lines.items()))
    rises = "".join(
        f"\n[[rises]]\nroom = {json.dumps(rise.room)}\nlines = {rise.lines}\nwhy = {json.dumps(rise.why)}\n"
        for rise in budget.rises
    )
    return f"{HEAD}most = {budget.most}  # src as a whole, without technique cards\n\n[lines]\n{rooms}{rises}"


def counted(root: Path) -> Counter[str]:
    """Lines of each file, by its path."""
    files = (path for folder in ("src", "benchmarks", "tests", ".ci") for path in (root / folder).rglob("*.py"))
    lines = Counter({path.relative_to(root).as_posix(): path.read_text("utf-8").count("\n") for path in files})
    return Counter({name: count for name, count in lines.items() if not name.startswith(UNCOUNTED)})


def by_room(budget: Budget, counts: Counter[str]) -> tuple[Counter[str], list[str]]:
    """Lines of each room, and files that lie in none."""
    found, homeless = Counter(dict.fromkeys(budget.lines, 0)), []
    for name, lines in sorted(counts.items()):
        rooms = [room for room in budget.lines if name.startswith(f"{room}/")]
        if rooms:
            found[max(rooms, key=len)] += lines
        else:
            homeless.append(name)
    return found, homeless


def beyond(budget: Budget, counts: Counter[str]) -> Iterator[str]:
    """What is larger than its budget, in words."""
    rooms, homeless = by_room(budget, counts)
    for room, lines in sorted(rooms.items()):
        if lines > budget.of(room):
            yield f"{room}: {lines} lines, its budget is {budget.of(room)} (.ci/sizes.py --raise WHY)"
    yield from (f"{name}: in no room of .ci/sizes.toml" for name in homeless)
    whole = sum(lines for name, lines in counts.items() if name.startswith("src/"))
    if whole > budget.most:
        yield f"src: {whole} lines without technique cards, at most {budget.most}"


def raised(budget: Budget, counts: Counter[str], why: str) -> Budget:
    """The budget with a rise for every room that has grown beyond it."""
    rooms, _ = by_room(budget, counts)
    rises = [Rise(room, lines - budget.of(room), why) for room, lines in sorted(rooms.items())]
    return budget._replace(rises=[*budget.rises, *(rise for rise in rises if rise.lines > 0)])


def lowered(budget: Budget, counts: Counter[str]) -> Budget:
    """The budget without what no room needs; the newest rises go first."""
    rooms, _ = by_room(budget, counts)
    spare = {room: max(0, budget.of(room) - lines) for room, lines in rooms.items()}
    kept: list[Rise] = []
    for rise in reversed(budget.rises):
        taken = min(spare[rise.room], rise.lines)
        spare[rise.room] -= taken
        kept += [rise._replace(lines=rise.lines - taken)] if taken < rise.lines else []
    lines = {room: lines - spare[room] for room, lines in budget.lines.items() if rooms[room]}
    return Budget(budget.most, lines, kept[::-1])


def too_long(path: Path, name: Path) -> Iterator[str]:
    """What of one file is too long, in words."""
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if lines > MODULE_LINES:
        yield f"{name}: {lines} lines, at most {MODULE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{name}:{node.lineno} {node.name}: {lines} lines, at most {FUNCTION_LINES}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
