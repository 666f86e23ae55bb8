"""An audit of kernels whose true answers are known: `python benchmarks/published.py --target cpu --out FILE`.

`tests/published/kernels` holds kernels written as published ones are, with the truth in their first lines:

    # task: chain               the file in tests/published/tasks
    # truth: right              right; weaker (right with the parameters of construction); wrong; cheat
    # speed: faster             against eager: faster, slower, even, not slower, any
    # claimed: 3.00             what is claimed, often too much
    # only: cpu                 where it can run; both if nothing is said

`tests/published/gpu` holds those for a GPU alone. Every verdict is written down at once; the same command goes on where it
ended, and `--seconds` ends it in time. Exit code 0: all that were chosen are recognised.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from provenance import provenance_of
from pydantic import JsonValue, ValidationError

from kernelwright.engine.audit import LINES, PUBLISHED, AuditRequest, audit
from kernelwright.engine.events import Event
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.records.evaluation import Measured
from kernelwright.records.published import AuditedKernel, summed_up

SET = Path(__file__).parents[1] / "tests" / "published"
_FIELD = re.compile(r"^# (task|truth|speed|claimed|only): (.*)$", re.MULTILINE)
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


class TimeOverError(Exception):
    """The time is over; the same command goes on."""


def known_kernels(kind: str) -> list[Known]:
    """Every kernel for a kind of device."""
    folders = ("kernels", "gpu") if kind == "cuda" else ("kernels",)
    files = [file for folder in folders for file in sorted((SET / folder).glob("*.py"))]
    return [one for one in map(_known, files) if one.only in ("", kind)]


def _known(file: Path) -> Known:
    told = dict(_FIELD.findall(file.read_text()))
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
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--target", default="cpu")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--folder", type=Path, default=Path("published-audit"), help="the audit's own folder")
    asked.add_argument("--only", default="", help="kernels whose names contain this")
    asked.add_argument("--seconds", type=float, default=float("inf"))
    asked.add_argument("--untimed", action="store_true", help="the machine is busy: do not look at speeds")
    asked.add_argument("--final", action="store_true", help="measure as long as a final does")
    asked.add_argument("--fresh", action="store_true")
    arguments = asked.parse_args()
    kind = resolve_target(arguments.target).kind
    chosen = [one for one in known_kernels(kind) if arguments.only in one.name]
    _audit(arguments, chosen)
    rows = _rows(chosen, read_lines(arguments.folder / LINES), timed=not arguments.untimed)
    counts = {"judged": len(rows), "recognised": sum(not row["told"] for row in rows), "left": len(chosen) - len(rows)}
    told = {**provenance_of(arguments.target), **counts, "timed": not arguments.untimed}
    audited = tuple(read_lines(arguments.folder / LINES).values())
    told["sentence"] = summed_up(tuple(a for a in audited if a.published.name in {one.name for one in chosen})).sentence
    arguments.out.write_text(json.dumps({**told, "rows": rows}, indent=1) + "\n")
    for row in rows:
        sys.stdout.write(f"{row['name']:<24} {row['truth']:<8} {row['found']:<28} {row['told']}\n")
    sys.stdout.write(f"{told['recognised']} of {told['judged']} recognised, {told['left']} left; {told['sentence']}\n")
    return int(told["recognised"] != len(chosen))


def _audit(arguments: argparse.Namespace, chosen: Sequence[Known]) -> None:
    arguments.folder.mkdir(parents=True, exist_ok=True)
    listed = arguments.folder / "set.jsonl"
    listed.write_text("".join(f"{json.dumps(one.line())}\n" for one in chosen))
    end = time.monotonic() + arguments.seconds

    def heard(event: Event) -> None:
        told = getattr(event, "text", "")
        # Only between two kernels: what the referee notes comes from its own threads.
        if told.endswith(f" of {len(chosen)})") and time.monotonic() > end:
            raise TimeOverError
        sys.stderr.write(f"{told}\n")

    request = AuditRequest(
        listed,
        target=arguments.target,
        policy=PUBLISHED,
        effort="final" if arguments.final else "search",
        folder=arguments.folder,
        fresh=arguments.fresh,
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


def _rows(chosen: Sequence[Known], verdicts: dict[str, AuditedKernel], timed: bool) -> list[dict[str, JsonValue]]:
    return [_row(one, verdicts[one.name], timed) for one in chosen if one.name in verdicts]


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
