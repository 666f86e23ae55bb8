"""Every drop-in in every circumstance: `python benchmarks/drop_ins.py --out FILE`, with `--target cuda` those of a GPU.

A case is one drop-in in one circumstance (train and eval, grad and no_grad, dtypes, batch sizes, devices, fake tensors,
copies, threads, hooks, changed attributes, transforms, `torch.compile`, export): right where its answer or its exception
is the reference's. What FILE has of the same drop-in's text is not run again, nor is a case that FILE.cases has, which is
written as soon as it is known. Exit code 0: all were run and every case is right.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from campaign import Campaign, Row, command

sys.path.append(str(Path(__file__).parents[1] / "tests" / "unit" / "export"))
from drop_in_cases import IN_CPP, IN_TRITON, NO_COMPILER, by_hand, circumstances, exported, small, wrong
from drop_in_kernels import KERNELS


class Group(NamedTuple):
    """Drop-ins that are tried in the same way."""

    name: str
    tasks: tuple[str, ...]
    kind: str
    flags: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


HERE = (
    Group("C++ by the author", tuple(IN_CPP), "cpu", ("--part", "eager")),
    Group("C++ by hand", tuple(KERNELS), "by hand", ("--part", "eager")),
    Group("C++, no compiler", tuple(IN_CPP), "cpu", ("--part", "eager", "--no-kernel"), tuple(NO_COMPILER.items())),
    Group(
        "Triton, no GPU", tuple(IN_TRITON), "cuda", ("--part", "eager", "--no-kernel"), (("CUDA_VISIBLE_DEVICES", ""),)
    ),
    Group("C++ under compilers", tuple(IN_CPP), "cpu", ("--part", "compilers")),
    Group("by hand, under them", tuple(KERNELS), "by hand", ("--part", "compilers")),
)
ON_A_GPU = (Group("Triton on the GPU", tuple(IN_TRITON), "cuda", ("--device", "cuda")),)


class Cases:
    """Cases of drop-ins that are not complete, a line of JSON for each, in a file beside the rows."""

    def __init__(self, out: Path) -> None:
        self._file = out.with_name(f"{out.name}.cases")

    def of(self, key: str) -> dict[str, Row]:
        """What is known of one drop-in; a last line that was cut off is not."""
        text = self._file.read_text() if self._file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return {name: told for one, name, told in lines if one == key}

    def add(self, key: str, name: str, told: Row) -> None:
        """Write one down."""
        with self._file.open("a") as file:
            file.write(json.dumps([key, name, told]) + "\n")

    def clear(self) -> None:
        """All drop-ins are complete."""
        self._file.unlink(missing_ok=True)


async def measure(campaign: Campaign, asked: list[tuple[Group, str]]) -> None:
    """Run what is not known yet; a drop-in whose text has changed is another one."""
    await campaign.begin_on_device()
    cases = Cases(campaign.out)
    for group, name in asked:
        known = campaign.by_key.get((group.name, name), {})
        if campaign.over() or (row := _row(group, name, known, cases, campaign.until)) is None:
            return
        if row is not known:
            campaign.put(row)
    if not campaign.asked.only:
        cases.clear()


def _row(group: Group, name: str, known: Row, cases: Cases, end: float) -> Row | None:
    """The counts of one drop-in; None where time ended before it was complete."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if group.kind == "by hand":
            by_hand(name, folder)
        else:
            exported(small(name), folder, group.kind)
        text = (folder / "exported.py").read_text()
        key = hashlib.sha256(repr((group, name, text)).encode()).hexdigest()[:16]
        if known.get("key") == key:
            return known
        report = _report(folder, group, key, cases, end)
    if report is None:
        return None
    by_kernel = sum(case["kernel"] > 0 for case in report.values())
    found = wrong(report)
    counts = {"cases": len(report), "right": len(report) - len(found), "by_kernel": by_kernel}
    return {"key": key, "group": group.name, "task": name, **counts, "wrong": found}


def _report(folder: Path, group: Group, key: str, cases: Cases, end: float) -> dict[str, Row] | None:
    report = cases.of(key)
    seconds = min(max(end - time.monotonic(), 0.001), 1e6)
    try:
        for name, case in circumstances(
            folder, *group.flags, known=report.keys(), seconds=seconds, **dict(group.environment)
        ):
            report[name] = case
            cases.add(key, name, case)
    except TimeoutError:
        return None
    return report


def table(rows: list[Row]) -> str:
    """A line for each group."""
    lines = [f"{'':20} {'drop-ins':>9} {'cases':>6} {'right':>6} {'by the kernel':>14}"]
    for group in (*HERE, *ON_A_GPU):
        if own := [row for row in rows if row["group"] == group.name]:
            cases, right, by_kernel = (sum(row[name] for row in own) for name in ("cases", "right", "by_kernel"))
            count = f"{len(own):>2} of {len(group.tasks):>3}"
            lines.append(f"{group.name:20} {count} {cases:>6} {right:>6} {by_kernel:>14}")
    return "\n".join(lines)


def main() -> int:
    """Run what is missing, and print the table."""
    campaign = Campaign(command(__doc__, seconds=36000.0).parse_args(), key=("group", "task"))
    groups = ON_A_GPU if campaign.asked.target == "cuda" else HERE
    every = [(group, name) for group in groups for name in group.tasks]
    asked = campaign.chosen(every, lambda one: f"{one[0].name}: {one[1]}")
    campaign.run(lambda: measure(campaign, asked))
    campaign.show(table)
    rows = [campaign.by_key.get((group.name, name)) for group, name in asked]
    return int(not all(row and not row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
