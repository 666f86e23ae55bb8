"""Real walks over the graph of techniques: what `kernelwright bench --strategies regraph,…` found, task by task.

`python benchmarks/graph_real.py BENCH… --out FILE.json` reads the run of every cell and writes, for each task and navigator,
the device time of each evaluation in its order, how many evaluations it took to within 2 % of the least that any navigator
found, and that least beside the serial function and beside the first kernel, which nothing was done to yet.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import geometric_mean, median

from campaign import Row, written

from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import Measured, is_right
from kernelwright.store.files import write_whole
from kernelwright.store.run import RunStore

NEAR = 1.02
"""Times whose ratio is less are those of one kernel."""


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benches", nargs="+", type=Path, help="folders of `kernelwright bench`")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    rows = [row for folder in asked.benches for row in _bench(folder)]
    environment = json.loads((asked.benches[0] / "bench.json").read_text())["environment"]
    write_whole(asked.out, written({"environment": environment, "rows": rows}))
    sys.stdout.write("\n".join(_table(rows)) + "\n")


def _bench(folder: Path) -> list[Row]:
    """A row for each task and navigator."""
    cells = json.loads((folder / "bench.json").read_text())["cells"]
    walks = {cell["folder"]: _walk(folder / cell["folder"]) for cell in cells}
    rows = []
    for task in dict.fromkeys(cell["cell"]["task"] for cell in cells):
        here = [cell for cell in cells if cell["cell"]["task"] == task]
        attempts = [a for cell in here for a in walks[cell["folder"]]]
        least = min(t for a in attempts if (t := _latency_us(a)) is not None)
        serial = median(s for a in attempts for s in _serial_us(a))
        for cell in here:
            rows.append({"task": task, **_row(cell["cell"]["arm"]["strategy"], walks[cell["folder"]], least, serial)})
    return rows


def _walk(folder: Path) -> list[Attempt]:
    with closing(RunStore.open(folder)) as store:
        return store.attempts()


def _row(strategy: str, walk: Sequence[Attempt], least: float, serial: float) -> Row:
    times = [_latency_us(a) for a in walk]
    best = min(t for t in times if t is not None)
    return {
        "strategy": strategy,
        "language": walk[0].proposal.candidate.language,
        "evaluations": len(walk),
        "right": sum(is_right(a.evaluation) for a in walk),
        "device_us": times,
        "to_best": next((n for n, t in enumerate(times, 1) if t is not None and t <= NEAR * least), None),
        "best_us": best,
        "serial_us": serial,
        "over_serial": serial / best,
        "over_naive": times[0] / best if times[0] else None,
    }


def _latency_us(attempt: Attempt) -> float | None:
    return attempt.evaluation.timing.latency_us if isinstance(attempt.evaluation, Measured) else None


def _serial_us(attempt: Attempt) -> Iterator[float]:
    """The serial function beside this kernel, copies from and to the device with it."""
    if isinstance(attempt.evaluation, Measured):
        yield from (us for side in attempt.evaluation.timing.arms if side.name == "eager" for us in side.samples_us)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    heads = ("right", 7), ("to best", 9), ("best", 12), ("over naive", 12), ("over serial", 13)
    yield f"{'task':14}{'strategy':20}{'language':9}" + "".join(f"{head:>{width}}" for head, width in heads)
    for row in rows:
        right = f"{row['right']}/{row['evaluations']}"
        naive = f"{row['over_naive']:.2f}x" if row["over_naive"] else "-"
        yield (
            f"{row['task']:14}{row['strategy']:20}{row['language']:9}{right:>7}{row['to_best'] or '-':>9}"
            f"{row['best_us']:9.2f} us{naive:>12}{row['over_serial']:12.0f}x"
        )
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        own = [row["over_serial"] for row in rows if row["strategy"] == strategy]
        yield f"{strategy}: {geometric_mean(own):.0f}x over serial code"


if __name__ == "__main__":
    main()
