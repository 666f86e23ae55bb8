"""Every drop-in in every circumstance: `python benchmarks/drop_ins.py --out FILE`, with `--device cuda` those of a GPU.

A case is one drop-in in one circumstance (train and eval, grad and no_grad, dtypes, batch sizes, devices, fake tensors,
copies, threads, hooks, changed attributes, transforms, `torch.compile`, export): right where its answer or its exception
is the reference's. Resumable: what FILE has of the same drop-in's text is not run again, nor is a case that FILE.cases has,
which is written as soon as it is known. `--seconds` ends the pass after that long. Exit code 0: all were run and every case
is right.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch

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

    def of(self, key: str) -> dict[str, dict[str, object]]:
        """What is known of one drop-in; a last line that was cut off is not."""
        text = self._file.read_text() if self._file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return {name: told for one, name, told in lines if one == key}

    def add(self, key: str, name: str, told: dict[str, object]) -> None:
        """Write one down."""
        with self._file.open("a") as file:
            file.write(json.dumps([key, name, told]) + "\n")

    def clear(self) -> None:
        """All drop-ins are complete."""
        self._file.unlink(missing_ok=True)


def main(arguments: argparse.Namespace) -> int:
    """Run what is not known yet, write, and print a table."""
    out, end = Path(arguments.out), time.monotonic() + arguments.seconds
    groups = ON_A_GPU if arguments.device == "cuda" else HERE
    asked = [(group, name) for group in groups for name in group.tasks if arguments.only in f"{group.name}: {name}"]
    known = json.loads(out.read_text())["rows"] if out.exists() else []
    wanted: list[dict[str, object]] = []
    cases = Cases(out)
    for group, name in asked:
        row = _row(group, name, {row["key"]: row for row in known}, cases, end)
        if row is None:
            break
        wanted.append(row)
        done = {(row["group"], row["task"]) for row in wanted}
        others = [row for row in known if (row["group"], row["task"]) not in done]
        out.write_text(json.dumps({**_origin(arguments.device), "rows": wanted + others}, indent=1) + "\n")
    sys.stdout.write("".join(_table(groups, wanted)))
    if len(wanted) < len(asked):
        return 1
    if not arguments.only:
        cases.clear()
    return int(any(row["wrong"] for row in wanted))


def _row(
    group: Group, name: str, rows: dict[str, dict[str, object]], cases: Cases, end: float
) -> dict[str, object] | None:
    """The counts of one drop-in; None where time ended before it was complete."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if group.kind == "by hand":
            by_hand(name, folder)
        else:
            exported(small(name), folder, group.kind)
        text = (folder / "exported.py").read_text()
        key = hashlib.sha256(repr((group, name, text)).encode()).hexdigest()[:16]
        if key in rows:
            return rows[key]
        report = _report(folder, group, key, cases, end)
    if report is None:
        return None
    by_kernel = sum(int(str(told["kernel"])) > 0 for told in report.values())
    found = wrong(report)
    sys.stderr.write(f"{group.name}: {name}: {len(report) - len(found)} of {len(report)} right\n")
    counts = {"cases": len(report), "right": len(report) - len(found), "by_kernel": by_kernel}
    return {"key": key, "group": group.name, "task": name, **counts, "wrong": found}


def _report(folder: Path, group: Group, key: str, cases: Cases, end: float) -> dict[str, dict[str, object]] | None:
    report = cases.of(key)
    seconds = min(max(end - time.monotonic(), 0.001), 1e6)
    try:
        for name, told in circumstances(
            folder, *group.flags, known=report.keys(), seconds=seconds, **dict(group.environment)
        ):
            report[name] = told
            cases.add(key, name, told)
    except TimeoutError:
        return None
    return report


def _table(groups: tuple[Group, ...], rows: list[dict[str, object]]) -> Iterator[str]:
    yield f"{'':20} {'drop-ins':>9} {'cases':>6} {'right':>6} {'by the kernel':>14}\n"
    for group in groups:
        own = [row for row in rows if row["group"] == group.name]
        cases, right, by_kernel = (sum(int(str(row[n])) for row in own) for n in ("cases", "right", "by_kernel"))
        yield f"{group.name:20} {len(own):>2} of {len(group.tasks):>3} {cases:>6} {right:>6} {by_kernel:>14}\n"


def _origin(device: str) -> dict[str, object]:
    described = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else _processor(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "commit": os.environ.get("KERNELWRIGHT_COMMIT") or described.stdout.strip() or "unknown",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    """As results of other benchmarks name it."""
    told = Path("/proc/cpuinfo")
    named = re.search(r"(?m)^model name\s*: (.+)$", told.read_text()) if told.exists() else None
    return f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument(
        "--only", default="", help="drop-ins whose 'GROUP: TASK' has this, such as 'no compiler: examples/'"
    )
    sys.exit(main(parser.parse_args()))
