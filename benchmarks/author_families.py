"""What the rows of `benchmarks/author.py` come to, by family: counts, geometric means, shares of the copy's bandwidth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Row = dict[str, Any]
BASELINES = ("eager", "compile")
RIGHT = ("measured", "verified")
HEAD = (
    f"{'family':24} {'tasks':>5} {'right':>5} {'timed':>5} {'compile':>8} {'better':>8} {'worst':>6}"
    f" {'faster':>6} {'even':>5} {'slower':>6} {'of copy':>8}"
)
NEAR = 0.85
"""Share of the speedup over eager of the best schedule of a size from which on another schedule is near it."""


@dataclass(frozen=True)
class Family:
    """Figures of some rows; ratios and shares are over those that were timed against both baselines."""

    name: str
    tasks: int
    right: int
    eager: tuple[float, ...]
    """Times as fast as eager PyTorch."""
    compile: tuple[float, ...]
    """Times as fast as `torch.compile`."""
    better: tuple[float, ...]
    """Times as fast as the better of both."""
    faster: int
    """Surely faster than both."""
    slower: int
    """Surely slower than one of them."""
    copy_share: float | None
    """Median share of the bandwidth of a copy, of the bytes that must be moved."""
    tflops: float | None
    """Median of 10^12 of the task's own operations a second, as many as eager does."""

    @property
    def even(self) -> int:
        """Neither."""
        return len(self.better) - self.faster - self.slower


def families(rows: Sequence[Row]) -> Iterator[Family]:
    """Of each family in turn."""
    for name in dict.fromkeys(str(row["family"]) for row in rows):
        yield family(name, [row for row in rows if row["family"] == name])


def family(name: str, rows: Sequence[Row]) -> Family:
    """Of all of these."""
    timed = [row for row in rows if all(baseline in row for baseline in BASELINES)]
    verdicts = [{row[baseline][3] for baseline in BASELINES} for row in timed]
    shares, tflops = ([row[k] for row in timed if row.get(k)] for k in ("copy_share", "tflops"))
    return Family(
        name=name,
        tasks=len(rows),
        right=sum(row.get("outcome") in RIGHT for row in rows),
        eager=tuple(figure(row, "eager") for row in timed),
        compile=tuple(figure(row, "compile") for row in timed),
        better=tuple(better(row) for row in timed),
        faster=sum(v == {"faster"} for v in verdicts),
        slower=sum("slower" in v for v in verdicts),
        copy_share=median(shares) if shares else None,
        tflops=median(tflops) if tflops else None,
    )


def better(row: Row) -> float:
    """How many times as fast as the better of both; 0 where nothing was measured."""
    return min((figure(row, name) for name in BASELINES if name in row), default=0.0)


def figure(row: Row, name: str, place: int = 0) -> float:
    """How many times as fast as a baseline: the median, or the lower end with `place` 1."""
    return float(row[name][place])


def mean(ratios: Sequence[float]) -> float:
    """Their geometric mean; not a number where there are none."""
    if not ratios:
        return math.nan
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows: Sequence[Row], wanted: int) -> str:
    """For people: a line for each family, then what was not right and why."""
    lines = [HEAD, *map(_line, families(rows)), _line(family("all", rows))]
    missed = [row for row in rows if "schedule" not in row]
    lines += [f"{row['task']}: {row['outcome']}: {row.get('why', '')[:200]}" for row in missed]
    return "\n".join([*lines, *_second(rows), f"{len(rows)} of {wanted} tasks tried", ""])


def _second(rows: Sequence[Row]) -> list[str]:
    """At how many tasks the schedule of one size is near another size's best."""
    shares = [row["second"]["share"] or 0.0 for row in rows if row.get("second")]
    near = sum(share >= NEAR for share in shares)
    return [f"another size: within {1 - NEAR:.0%} of its best at {near} of {len(shares)} tasks"] if shares else []


def _line(found: Family) -> str:
    counts = f"{found.name:24} {found.tasks:5} {found.right:5} {len(found.better):5}"
    if not found.better:
        return counts
    means = f"{mean(found.compile):7.2f}x {mean(found.better):7.2f}x {min(found.better):5.2f}x"
    share = "" if found.copy_share is None else f"{found.copy_share:8.0%}"
    return f"{counts} {means} {found.faster:6} {found.even:5} {found.slower:6} {share}"
