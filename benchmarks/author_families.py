"""What the rows of `benchmarks/author.py` come to, by family: counts, geometric means, shares of the copy's bandwidth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import JsonValue

Row = dict[str, JsonValue]
BASELINES: tuple[Literal["eager", "compile"], ...] = ("eager", "compile")
RIGHT = ("measured", "verified")


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
    verdicts = [{_verdict(row, baseline) for baseline in BASELINES} for row in timed]
    shares, tflops = ([float(str(row[k])) for row in timed if row.get(k)] for k in ("copy_share", "tflops"))
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
    found = row[name]
    assert isinstance(found, list)
    return float(str(found[place]))


def mean(ratios: Sequence[float]) -> float:
    """Their geometric mean; not a number where there are none."""
    if not ratios:
        return math.nan
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _verdict(row: Row, name: str) -> str:
    found = row[name]
    assert isinstance(found, list)
    return str(found[3])
