"""An audit of kernels whose true answers are known: `python benchmarks/published.py --target cpu --out FILE`.

`tests/published/kernels` holds kernels written as published ones are, with the truth in their first lines:

    # task: chain               the file in tests/published/tasks
    # truth: right              right; weaker (right with the parameters of construction); wrong; cheat
    # speed: faster             against eager: faster, slower, even, not slower, any
    # claimed: 3.00             what is claimed, often too much
    # only: cpu                 where it can run; both if nothing is said
    # speed on cuda: any        what holds on one kind of device, in place of the line above

`tests/published/gpu` holds those for a GPU alone. Every kernel is timed briefly, and against eager alone, of which the truth
speaks. FILE is written after every kernel; the same command goes on where it ended, with the same texts, device, versions and
rules, and `--seconds` ends it between two kernels. Exit code 0: all that were chosen are recognised.
"""

import json
import re
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from campaign import command, named_by, written
from provenance import provenance_of
from pydantic import JsonValue, ValidationError

from kernelwright.engine.audit import LINES, PUBLISHED, AuditRequest, audit
from kernelwright.engine.events import Event
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.records.base import identity
from kernelwright.records.evaluation import Measured
from kernelwright.records.published import AuditedKernel, AuditSummary, PublishedKernel, summarise
from kernelwright.store.files import write_whole

SET = Path(__file__).parents[1] / "tests" / "published"
_FIELD = re.compile(r"^# ((?:task|truth|speed|claimed|only)(?: on \w+)?): (.*)$", re.MULTILINE)
POLICY = PUBLISHED.model_copy(update={"baselines": ("eager",), "final_baselines": (), "search_seconds": 2.0})
EVEN = 1.07
"""Times that kernels of equal work may differ by: allocation and the order of operations."""


class Known(NamedTuple):
    """A kernel with its true answer."""

    file: Path
    task: str
    truth: str
    speed: str
    claimed: float
    only: str

    @property
    def name(self) -> str:
        """What the audit calls it."""
        return self.file.stem

    def line(self) -> dict[str, JsonValue]:
        """As a line of an audit's list."""
        task = SET / "tasks" / f"{self.task}.py"
        texts = {"task": task.read_text(), "kernel": self.file.read_text()}
        return {"name": self.name, **texts, "claimed speedup": self.claimed}

    def is_of(self, judged: PublishedKernel) -> bool:
        """Whether it was judged with the texts that it has now."""
        line = self.line()
        return (judged.reference, judged.kernel) == (line["task"], line["kernel"])


class TimeOverError(Exception):
    """The time is over; the same command goes on."""


def known_kernels(kind: str) -> list[Known]:
    """Every kernel for a kind of device."""
    folders = ("kernels", "gpu") if kind == "cuda" else ("kernels",)
    files = [file for folder in folders for file in sorted((SET / folder).glob("*.py"))]
    return [one for file in files if (one := _known(file, kind)).only in ("", kind)]


def _known(file: Path, kind: str) -> Known:
    told = dict(_FIELD.findall(file.read_text()))
    told |= {name.removesuffix(f" on {kind}"): value for name, value in told.items() if name.endswith(f" on {kind}")}
    speed = told.get("speed", "any")
    return Known(file, told["task"], told["truth"], speed, float(told["claimed"]), told.get("only", ""))


def unlike(known: Known, found: AuditedKernel, timed: bool = True) -> str:
    """What the audit says that is not so; empty where it recognised the kernel. `timed`: the speed counts too."""
    right = {"right": True, "weaker": True, "wrong": False, "cheat": False}[known.truth]
    if not found.judged and known.truth != "wrong":
        return f"no verdict: {found.reason}: {found.message[:300]}"
    if found.right != right:
        return f"{known.truth}, and found {found.reason or 'right'}: {found.message[:300]}"
    if right and (found.weights == "construction") != (known.truth == "weaker"):
        return f"{known.truth}, and judged with {found.weights} weights"
    return _speed(known, found) if right and timed else ""


def _speed(known: Known, found: AuditedKernel) -> str:
    versus = found.against("eager")
    if versus is None:
        return f"no time: {found.reason}"
    ratio, verdict = versus.speedup, versus.verdict
    met = {
        "faster": verdict == "faster",
        "slower": verdict == "slower",
        "even": 1 / EVEN < ratio.median < EVEN or verdict == "inconclusive",
        "not slower": verdict != "slower" or ratio.median > 1 / EVEN,
        "any": True,
    }[known.speed]
    return (
        "" if met else f"{known.speed}, and found {ratio.median:.2f}x ({ratio.low:.2f} to {ratio.high:.2f}, {verdict})"
    )


def main() -> int:
    """Audit, compare with the truth, write the result."""
    asked = command(__doc__, seconds=500.0)
    asked.add_argument("--folder", type=Path, help="of the audits' own files; without it beside OUT")
    asked.add_argument("--untimed", action="store_true", help="the machine is busy: do not look at speeds")
    asked.add_argument("--final", action="store_true", help="measure as long as a final does")
    arguments = asked.parse_args()
    book = Book(arguments)
    try:
        _audit(arguments, book)
    finally:
        told = book.write()
    for row in told["rows"]:
        sys.stdout.write(f"{row['name']:<24} {row['truth']:<8} {row['found']:<28} {row['told']}\n")
    sys.stdout.write(f"{told['recognised']} of {told['judged']} recognised, {told['left']} left; {told['sentence']}\n")
    return int(told["recognised"] != len(book.chosen))


class Book:
    """What was chosen, what is known of it, and the file that says so."""

    def __init__(self, arguments: Namespace) -> None:
        self.out: Path = arguments.out
        self.timed = not arguments.untimed
        kind = resolve_target(arguments.target).kind
        self.chosen = [one for one in known_kernels(kind) if named_by(arguments.only, one.name)]
        self.head = provenance_of(arguments.target)
        where = {"device": self.head["device"], "versions": self.head["versions"]}
        rules = {"policy": POLICY.model_dump(mode="json"), "final": arguments.final}
        base = arguments.folder or self.out.with_name(f"{self.out.stem}-audit")
        self.folder = base / identity("published audit", {**where, **rules})
        """The audit's own: verdicts of other devices, versions and rules lie elsewhere."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self) -> dict[str, Any]:
        """The file, from what is known by now."""
        verdicts = read_lines(self.folder / LINES)
        found = [(one, verdicts[one.name]) for one in self.chosen if one.name in verdicts]
        found = [(one, verdict) for one, verdict in found if one.is_of(verdict.published)]
        rows = [_row(one, verdict, self.timed) for one, verdict in found]
        recognised = sum(not row["told"] for row in rows)
        counts = {"judged": len(rows), "recognised": recognised, "left": len(self.chosen) - len(rows)}
        sentence = _sentence(summarise(tuple(verdict for _, verdict in found)))
        told = {**self.head, **counts, "timed": self.timed, "sentence": sentence, "rows": rows}
        write_whole(self.out, written(told))
        return told


def _sentence(found: AuditSummary) -> str:
    line = (
        f"of {found.published} published kernels {found.right} are right, {found.faster_than_eager} faster than eager"
    )
    if found.claimed is None or found.measured is None:
        return line
    means = f"claimed {found.claimed:.2f}, measured {found.measured:.2f}"
    return f"{line}; geometric mean {means} ({found.compared} kernels)"


def _audit(arguments: Namespace, book: Book) -> None:
    listed = book.folder / "set.jsonl"
    listed.write_text("".join(f"{json.dumps(one.line())}\n" for one in book.chosen))
    end = time.monotonic() + arguments.seconds

    def heard(event: Event) -> None:
        told = getattr(event, "text", "")
        # Only between two kernels: what the referee notes comes from its own threads.
        if told.endswith(f" of {len(book.chosen)})"):
            book.write()
            if time.monotonic() > end:
                raise TimeOverError
        sys.stderr.write(f"{told}\n")

    request = AuditRequest(
        listed,
        target=arguments.target,
        policy=POLICY,
        effort="final" if arguments.final else "search",
        folder=book.folder,
        fresh=arguments.anew,
    )
    try:
        audit(request, Suppliers(listener=heard))
    except TimeOverError:
        sys.stderr.write("the time is over; the same command goes on\n")


def read_lines(file: Path) -> dict[str, AuditedKernel]:
    """The last verdict on each kernel, by name."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            one = AuditedKernel.model_validate_json(line)
        except ValidationError:
            continue
        found[one.published.name] = one
    return found


def _row(known: Known, found: AuditedKernel, timed: bool) -> dict[str, JsonValue]:
    versus = found.against("eager")
    measured = found.evaluation if isinstance(found.evaluation, Measured) else None
    return {
        "name": known.name,
        "truth": known.truth,
        "speed": known.speed,
        "claimed": known.claimed,
        "found": found.reason or (measured.outcome if measured else "right"),
        "weights": found.weights,
        "speedup": [versus.speedup.median, versus.speedup.low, versus.speedup.high] if versus else None,
        "library_share": measured.library_share if measured else None,
        "seconds": round(found.seconds, 1),
        "told": unlike(known, found, timed),
    }


if __name__ == "__main__":
    sys.exit(main())
