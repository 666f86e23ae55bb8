"""The table of `benchmarks/author.py`: counts and geometric means by family, then what was not right and why."""

from collections.abc import Sequence

from author_families import BASELINES, Family, Row, families, family, figure, mean

HEAD = (
    f"{'family':24} {'tasks':>5} {'right':>5} {'timed':>5} {'compile':>8} {'better':>8} {'worst':>6}"
    f" {'faster':>6} {'even':>5} {'slower':>6} {'of copy':>8}"
)

NEAR = 0.85
"""Share of the speedup over eager of the best schedule of a size from which on another schedule is near it."""


def line(row: Row, step: str) -> str:
    """A row as it is known."""
    ratios = [f"{name} {figure(row, name):.2f}x" for name in BASELINES if name in row]
    shares = f"{float(str(row['copy_share'])):4.0%} of copy" if row.get("copy_share") else ""
    reason = "" if ratios else str(row.get("why", ""))[:160].replace("\n", " ")
    return (
        f"{step:7} {row['task']!s:36} {row.get('outcome', '')!s:12} {' '.join(ratios):29} {shares} {reason}"
        f" {row['seconds']} s\n"
    )


def table(rows: Sequence[Row], wanted: int) -> str:
    """For people; figures are over all rows that were timed against both baselines."""
    lines = [HEAD, *map(_line, families(rows)), _line(family("all", rows))]
    lines += [
        f"{row['task']}: {row['outcome']}: {str(row.get('why', ''))[:200]}" for row in rows if "source" not in row
    ]
    return "\n".join([*lines, *_second(rows), f"{len(rows)} of {wanted} tasks tried", ""])


def _second(rows: Sequence[Row]) -> list[str]:
    """At how many tasks the schedule of one size is near another size's best."""
    shares = [found["share"] or 0.0 for row in rows if isinstance(found := row.get("second"), dict)]
    near = sum(float(str(share)) >= NEAR for share in shares)
    return [f"another size: within {1 - NEAR:.0%} of its best at {near} of {len(shares)} tasks"] if shares else []


def _line(found: Family) -> str:
    counts = f"{found.name:24} {found.tasks:5} {found.right:5} {len(found.better):5}"
    if not found.better:
        return counts
    means = f"{mean(found.compile):7.2f}x {mean(found.better):7.2f}x {min(found.better):5.2f}x"
    share = "" if found.copy_share is None else f"{found.copy_share:8.0%}"
    return f"{counts} {means} {found.faster:6} {found.even:5} {found.slower:6} {share}"
