"""Every drop-in in every circumstance: `python benchmarks/drop_ins.py --out FILE`, with `--device cuda` those of a GPU.

A case is one drop-in in one circumstance (train and eval, grad and no_grad, dtypes, batch sizes, devices, fake tensors,
copies, threads, hooks, changed attributes, transforms, `torch.compile`, export): right where its answer or its exception
is the reference's. Resumable: what FILE has of the same drop-in's text is not run again, and a row is written as soon as it
is known. `--seconds` ends the pass before that long is over. Exit code 0: all were run and every case is right.
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
from drop_in_cases import IN_CPP, IN_TRITON, NO_COMPILER, by_hand, exported, judged, small, wrong
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


def main(arguments: argparse.Namespace) -> int:
    """Run what is not known yet, write, and print a table."""
    out, end = Path(arguments.out), time.monotonic() + arguments.seconds
    groups = ON_A_GPU if arguments.device == "cuda" else HERE
    rows = {row["key"]: row for row in json.loads(out.read_text())["rows"]} if out.exists() else {}
    wanted: list[dict[str, object]] = []
    for group, name in ((one, name) for one in groups for name in one.tasks):
        row = _row(group, name, rows, end)
        if row is not None:
            wanted.append(row)
            out.write_text(json.dumps({**_origin(arguments.device), "rows": wanted}, indent=1) + "\n")
    sys.stdout.write("".join(_table(groups, wanted)))
    complete = len(wanted) == sum(len(group.tasks) for group in groups)
    return int(not complete or any(row["wrong"] for row in wanted))


def _row(group: Group, name: str, rows: dict[str, dict[str, object]], end: float) -> dict[str, object] | None:
    """The counts of one drop-in; None where there is no time left for it."""
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
        if time.monotonic() > end:
            return None
        report = judged(folder, *group.flags, **dict(group.environment))
    by_kernel = sum(told["kernel"] > 0 for told in report.values())
    found = wrong(report)
    sys.stderr.write(f"{group.name}: {name}: {len(report) - len(found)} of {len(report)} right\n")
    counts = {"cases": len(report), "right": len(report) - len(found), "by_kernel": by_kernel}
    return {"key": key, "group": group.name, "task": name, **counts, "wrong": found}


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
    sys.exit(main(parser.parse_args()))
