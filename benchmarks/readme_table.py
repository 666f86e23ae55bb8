"""Writes the README's results from committed measurements; `--check` fails when the two differ.

Fills three marked places of README.md: `headline`, what all tasks of a kind come to on a GPU and on a CPU; `results`, every
row of `benchmarks/results/examples-*.json` (docs/results.md has the schema); `field`, what `author-field-nvidia-*.json` come
to by family. Measures nothing.
"""

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from author_families import Family, families, family, mean
from pydantic import BaseModel, ConfigDict

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
COLUMNS = (
    "family", "tasks", "right", "over `torch.compile`", "over the better", "worst", "faster", "even", "slower",
    "of a copy", "TFLOP/s",
)  # fmt: skip
ARITHMETIC = 5.0
"""TFLOP/s below which arithmetic bounds nothing."""
KINDS = {"operators": "single operators", "chains": "fused chains", "networks": "whole networks"}
"""The folders of the field's tasks, and what the headline calls them."""
NOTHING = "*No measurement has been committed yet.*"


class Closed(BaseModel):
    """A field that is not declared is a mistake, not an extra."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Speedup(Closed):
    """Median ratio of paired blocks with its interval; above one the kernel is faster."""

    median: float
    low: float
    high: float


Verdict = Literal["faster", "slower", "inconclusive"]


class Row(Closed):
    """One task on one target, from a final measurement."""

    task: str
    target: str
    latency_us: float
    speedup_eager: Speedup
    speedup_compile: Speedup
    verdict_eager: Verdict
    verdict_compile: Verdict


class Results(Closed):
    """One file: rows that were measured on one device at one commit."""

    device: str
    versions: dict[str, str]
    commit: str
    date: str
    numerics: Literal["as-is", "strict"] = "strict"
    """Under which precision flags of PyTorch; files that do not say were measured without TF32."""
    rows: tuple[Row, ...]


def main(arguments: list[str]) -> int:
    """Rewrites the README, or only compares it."""
    examples = [read(path) for path in sorted(RESULTS.glob("examples-*.json"))]
    field = [json.loads(p.read_text("utf-8")) for p in sorted(RESULTS.glob("author-field-nvidia-*.json"), reverse=True)]
    own = [json.loads(p.read_text("utf-8")) for p in sorted(RESULTS.glob("author-own-*.json"))]
    before = after = README.read_text("utf-8")
    for place, body in {"headline": headline(field, own), "results": tables(examples), "field": fields(field)}.items():
        after = fill(after, place, body)
    if "--check" not in arguments:
        README.write_text(after, "utf-8")
        return 0
    if before != after:
        sys.stderr.write("README.md differs from benchmarks/results: run python benchmarks/readme_table.py\n")
    return int(before != after)


def read(path: Path) -> Results:
    """One file of measurements, checked against the schema."""
    return Results.model_validate_json(path.read_text("utf-8"))


def headline(field: list[dict[str, Any]], own: list[dict[str, Any]]) -> str:
    """A line for each kind of the field's tasks on the first device, and one for the suite's own on a CPU."""
    lines = [total(found, kind, name) for found in field[:1] for kind, name in KINDS.items()]
    lines += [total(found, "own", "the suite's own tasks") for found in own if found["target"] == "cpu"]
    if not lines:
        return NOTHING
    names = (
        "kind of task", "on", "tasks", "right", "over eager", "over `torch.compile`", "faster than both", "slower than one",
    )  # fmt: skip
    return "\n".join([f"| {' | '.join(names)} |", f"|---|---|{'--:|' * (len(names) - 2)}", *lines])


def total(found: dict[str, Any], kind: str, name: str) -> str:
    """All tasks of a kind in one line: counts and geometric means."""
    of = family(name, [row for row in found["rows"] if kind in row["task"].split("/")[:-1]])
    means = f"{mean(of.eager):.2f}× | {mean(of.compile):.2f}×"
    return f"| {name} | {found['device']} | {of.tasks} | {of.right} | {means} | {of.faster} | {of.slower} |"


def tables(found: list[Results]) -> str:
    """A table for each file, its device and commit below it."""
    if not found:
        return NOTHING
    return "\n\n".join("\n".join([*head(), *map(line, r.rows), "", caption(r)]) for r in found)


def head() -> list[str]:
    """Names of the columns."""
    return [
        "| task | target | one call | against eager PyTorch | against `torch.compile` |",
        "|---|---|--:|---|---|",
    ]


def line(row: Row) -> str:
    """One row; wins and losses look alike."""
    eager = ratio(row.speedup_eager, row.verdict_eager)
    compiled = ratio(row.speedup_compile, row.verdict_compile)
    return f"| {row.task} | {row.target} | {call(row.latency_us)} | {eager} | {compiled} |"


def ratio(found: Speedup, verdict: Verdict) -> str:
    """Median, interval and verdict."""
    return f"{found.median:.2f}× ({found.low:.2f} to {found.high:.2f}), {verdict}"


def call(latency_us: float) -> str:
    """A latency in the unit that suits it."""
    return f"{latency_us / 1e3:.3g} ms" if latency_us >= 1e3 else f"{latency_us:.3g} µs"


def caption(found: Results) -> str:
    """Where, with what, and at which commit it was measured."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(found.versions.items()))
    return f"{found.device}; numerics {found.numerics}; {versions}; commit `{found.commit[:12]}`, {found.date}."


def fields(found: list[dict[str, Any]]) -> str:
    """A table for each pass over the field's tasks: single operators by family, chains, networks."""
    return "\n\n".join(map(one_field, found)) or NOTHING


def one_field(found: dict[str, Any]) -> str:
    """The table of one pass, and what it was measured with."""
    kinds = {k: [r for r in found["rows"] if f"/{k}/" in r["task"]] for k in KINDS}
    lines = [
        f"| {' | '.join(COLUMNS)} |",
        f"|---|{'--:|' * (len(COLUMNS) - 1)}",
        *(summed(each) for each in sorted(families(kinds["operators"]), key=lambda each: each.name)),
        *(summed(family(f"**all {kind}**", rows)) for kind, rows in kinds.items() if rows),
    ]
    versions = ", ".join(f"{name} {found['versions'][name]}" for name in ("python", "torch", "triton", "driver"))
    commits = Counter(row.get("commit", found["commit"]) for row in found["rows"]).most_common()
    states = ", ".join(f"{count} task{'s' * (count > 1)} at commit `{commit}`" for commit, count in commits)
    told = f"{found['device']}; numerics as-is; {versions}; {states}, {found['date']}."
    return "\n".join([*lines, "", told])


def summed(found: Family) -> str:
    """One line: counts and geometric means, then how near the device's limits it is."""
    counts = f"| {found.name} | {found.tasks} | {found.right} |"
    means = " | ".join(
        f"{x:.2f}×" for x in (mean(found.compile), mean(found.better), min(found.better, default=math.nan))
    )
    share = "" if found.copy_share is None else f"{found.copy_share:.0%}"
    flops = f"{found.tflops:.0f}" if (found.tflops or 0.0) >= ARITHMETIC else ""
    return f"{counts} {means} | {found.faster} | {found.even} | {found.slower} | {share} | {flops} |"


def fill(text: str, place: str, body: str) -> str:
    """`text` with `body` between the marks of `place`.

    Raises:
        SystemExit: the README has lost its marks.
    """
    begin, end = f"<!-- {place}:begin -->", f"<!-- {place}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(f"README.md: expected {begin} and {end} once each, in this order")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{body}\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
