"""Writes the tables of results from committed measurements; `--check` fails when the two differ.

Fills marked places: in README.md `headline`, a line for each set of tasks (`kernelbench-*.json`, the kinds of the field, the
suite); in docs/results.md `results`, every row of `examples-*.json`, and `field`, what `author-field-nvidia-*.json`
come to by family. `--show PLACE` prints one of them. Measures nothing.
"""

import json
import math
import sys
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from author_families import Family, families, family, mean
from pydantic import BaseModel, ConfigDict

ROOT = Path(__file__).parents[1]
PLACES = {"README.md": ("headline",), "docs/results.md": ("results", "field")}
"""Which tables each page has."""
RESULTS = ROOT / "benchmarks" / "results"
COLUMNS = (
    "family", "tasks", "right", "over `torch.compile`", "over the better", "worst", "faster", "even", "slower",
    "of a copy", "TFLOP/s",
)  # fmt: skip
ARITHMETIC = 5.0
"""TFLOP/s below which arithmetic bounds nothing."""
HEADLINE = (
    "tasks",
    "on",
    "reached",
    "right",
    "over eager",
    "over `torch.compile`",
    "faster",
    "even",
    "slower",
    "times",
)
KINDS = {"operators": "our single operators", "chains": "our fused chains", "networks": "our whole networks"}
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
    commit: str = ""
    """Of an earlier call, where it is not the file's."""


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
    """Rewrites the pages, compares them, or prints one place."""
    found = bodies()
    if "--show" in arguments:
        sys.stdout.write(found[arguments[arguments.index("--show") + 1]] + "\n")
        return 0
    pages = {ROOT / name: {place: found[place] for place in places} for name, places in PLACES.items()}
    written = {path: reduce(lambda text, each: fill(path, text, *each), places.items(), path.read_text("utf-8"))
               for path, places in pages.items()}  # fmt: skip
    differing = [path for path, text in written.items() if path.read_text("utf-8") != text]
    if "--check" not in arguments:
        for path in differing:
            path.write_text(written[path], "utf-8")
        return 0
    for path in differing:
        sys.stderr.write(f"{path.name} differs from benchmarks/results: run python benchmarks/readme_table.py\n")
    return int(bool(differing))


def bodies() -> dict[str, str]:
    """What stands at each place."""
    field = documents("author-field-nvidia-*.json")[::-1]
    return {
        "headline": headline(documents("kernelbench-*.json"), field, documents("author-own-*.json")),
        "results": tables([read(path) for path in sorted(RESULTS.glob("examples-*.json"))]),
        "field": "\n\n".join(map(one_field, field)) or NOTHING,
    }


def documents(pattern: str) -> list[dict[str, Any]]:
    """The files of measurements with such names, by name."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob(pattern))]


def read(path: Path) -> Results:
    """One file of measurements, checked against the schema."""
    return Results.model_validate_json(path.read_text("utf-8"))


def headline(levels: list[dict[str, Any]], field: list[dict[str, Any]], own: list[dict[str, Any]]) -> str:
    """A line for each of KernelBench's levels, each kind of the field's tasks on the first device, and the CPU's suite."""
    by_level = sorted(levels, key=lambda each: (each["name"][:7], "bf16" in each["name"], "TF32" in each["name"]))
    lines = [
        *(total(f"KernelBench {each['name']}", each, each["rows"], "search") for each in by_level),
        *(total(name, found, of_kind(found, kind), "finals") for found in field[:1] for kind, name in KINDS.items()),
        *(
            total("our small suite", found, of_kind(found, "own"), "finals")
            for found in own
            if found["target"] == "cpu"
        ),
    ]
    return "\n".join([f"| {' | '.join(HEADLINE)} |", f"|---|---|{'--:|' * 7}---|", *lines]) if lines else NOTHING


def of_kind(found: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The rows of the tasks in a folder of this name."""
    return [row for row in found["rows"] if kind in row["task"].split("/")[:-1]]


def total(name: str, found: dict[str, Any], rows: list[dict[str, Any]], times: str) -> str:
    """All of these tasks in one line: counts, and geometric means of those that were timed."""
    of = family(name, rows)
    reached = f"{of.tasks} of {found['problems']}" if found.get("problems", of.tasks) != of.tasks else f"{of.tasks}"
    means = f"{mean(of.eager):.2f}× | {mean(of.compile):.2f}×"
    counts = f"{of.faster} | {of.even} | {of.slower}"
    return f"| {name} | {found['device']} | {reached} | {of.right} | {means} | {counts} | {times} |"


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


def fill(path: Path, text: str, place: str, body: str) -> str:
    """`text` of a page with `body` between the marks of `place`.

    Raises:
        SystemExit: the page has lost its marks.
    """
    begin, end = f"<!-- {place}:begin -->", f"<!-- {place}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(f"{path.name}: expected {begin} and {end} once each, in this order")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{body}\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
