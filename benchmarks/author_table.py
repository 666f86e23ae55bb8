"""The table of `benchmarks/author.py`: counts and geometric means by family, then what was not right and why."""

import math
from collections.abc import Sequence
from statistics import median

from author_rows import BASELINES, Row, better

HEAD = (
    f"{'family':24} {'tasks':>5} {'right':>5} {'timed':>5} {'compile':>8} {'better':>8} {'worst':>6}"
    f" {'faster':>6} {'even':>5} {'slower':>6} {'of copy':>8}"
)

NEAR = 0.85
"""Share of the speedup over eager of the best schedule of a size from which on another schedule is near it."""


def line(row: Row, step: str) -> str:
    """A row as it is known."""
    ratios = [f"{name} {_figure(row, name):.2f}x" for name in BASELINES if name in row]
    shares = f"{float(str(row['copy_share'])):4.0%} of copy" if row.get("copy_share") else ""
    reason = "" if ratios else str(row.get("why", ""))[:160].replace("\n", " ")
    return (
        f"{step:7} {row['task']!s:36} {row.get('outcome', '')!s:12} {' '.join(ratios):29} {shares} {reason}"
        f" {row['seconds']} s\n"
    )


def table(rows: Sequence[Row], wanted: int) -> str:
    """For people; figures are over all rows that were timed against both baselines."""
    lines = [HEAD]
    for family in dict.fromkeys(str(row["family"]) for row in rows):
        lines.append(_means(family, [row for row in rows if row["family"] == family]))
    lines.append(_means("all", rows))
    lines += [
        f"{row['task']}: {row['outcome']}: {str(row.get('why', ''))[:200]}" for row in rows if "source" not in row
    ]
    return "\n".join([*lines, f"{len(rows)} of {wanted} tasks tried", ""])


def _means(name: str, rows: Sequence[Row]) -> str:
    right = [row for row in rows if row.get("outcome") in ("measured", "verified")]
    timed = [row for row in rows if all(baseline in row for baseline in BASELINES)]
    counts = f"{name:24} {len(rows):5} {len(right):5} {len(timed):5}"
    if not timed:
        return counts
    over = [better(row) for row in timed]
    verdicts = [{str(row[b][3]) for b in BASELINES} for row in timed]  # type: ignore[index]
    faster, slower = sum(v == {"faster"} for v in verdicts), sum("slower" in v for v in verdicts)
    shares = [float(str(row["copy_share"])) for row in timed if row.get("copy_share")]
    means = f"{_mean([_figure(row, 'compile') for row in timed]):7.2f}x {_mean(over):7.2f}x {min(over):5.2f}x"
    share = f"{median(shares):8.0%}" if shares else ""
    return f"{counts} {means} {faster:6} {len(timed) - faster - slower:5} {slower:6} {share}"


def _figure(row: Row, name: str) -> float:
    found = row[name]
    assert isinstance(found, list)
    return float(str(found[0]))


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
