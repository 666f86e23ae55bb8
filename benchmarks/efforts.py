"""What more effort brings: `python benchmarks/efforts.py --target cpu --out FILE`, with `--target cuda` on a GPU.

Each task is optimised by the command line once with each effort, in runs that remember nothing of each other, as somebody
would who tries the tool: wall seconds from the first to the last, start and admission included, and the speedup over eager
of the final (1 where PyTorch stays). The share of an effort is the logarithm of its speedup over that of `thorough`. Goes on
where it was cut: a row is written after each run. `--efforts quick` runs some alone, `--join FILE…` puts the files of several
passes on one machine together into `--out`. `--runs FOLDER` keeps the runs, to see in their reports where the time went.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from provenance import alike, provenance_of
from pydantic import JsonValue

from kernelwright.tasks.files import with_size

ROOT = Path(__file__).parents[1]
EFFORTS = ("quick", "standard", "thorough")
TASKS = ("own/log_softmax", "own/swiglu", "fsr/layer_norm", "own/huber_loss", "own/row_variance", "own/kl_divergence")
LIMIT_S = {"quick": 120.0, "standard": 600.0, "thorough": 1800.0}
"""Wall seconds after which a run is ended, and counts as nothing found: twice what the first two are meant to take."""
GONE = 0.02
"""Logarithm of a speedup under which there is nothing to have a share of."""
Row = dict[str, JsonValue]


def main() -> None:
    """Run what is missing, write, and print the table."""
    asked = arguments()
    if asked.join:
        sys.stdout.write(table(joined(asked.join, asked.out)))
        return
    head = {**provenance_of(asked.target), "size": asked.size}
    document = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    same = all(document.get(name) == head[name] for name in ("device", "versions", "size"))
    rows: list[Row] = document["rows"] if same else []
    end = time.monotonic() + asked.seconds
    done = {(row["task"], row["effort"]) for row in rows}
    for task, effort in ((t, e) for t in asked.tasks for e in asked.efforts if (t, e) not in done):
        if time.monotonic() > end:
            break
        rows.append({"task": task, "effort": effort, **ran(task, effort, asked), "commit": head["commit"]})
        asked.out.write_text(json.dumps({**head, "rows": rows}, indent=1) + "\n")
        sys.stderr.write(f"{json.dumps(rows[-1])}\n")
    sys.stdout.write(table(rows))


def joined(files: Sequence[Path], out: Path) -> list[Row]:
    """The rows of several passes, written as one file with the last one's head.

    Raises:
        SystemExit: they are of different devices, versions or sizes.
    """
    documents = [json.loads(file.read_text()) for file in files]
    first = documents[0]
    if not all(alike(one, first) and one["size"] == first["size"] for one in documents):
        raise SystemExit("these files differ in device, versions or size: they are no parts of one pass")
    rows = [row for one in documents for row in one["rows"]]
    out.write_text(json.dumps({**documents[-1], "rows": rows}, indent=1) + "\n")
    return rows


def ran(task: str, effort: str, asked: argparse.Namespace) -> Row:
    """One run: its wall seconds, its attempts and what it reached."""
    with TemporaryDirectory() if asked.runs is None else nullcontext(str(asked.runs)) as folder:
        named = with_size(ROOT / "tasks" / f"{task}.py", asked.size)
        command = [sys.executable, "-m", "kernelwright", "optimize", str(named), "--target", asked.target, "--json"]
        command += ["--effort", effort, "--no-cache", "--run-dir", folder]
        start = time.monotonic()
        try:
            said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S[effort])
        except subprocess.TimeoutExpired:
            return {"seconds": LIMIT_S[effort], "speedup": 1.0, "attempts": 0, "ended": "the time was over"}
        seconds = round(time.monotonic() - start, 1)
    try:
        told = json.loads(said.stdout)
    except ValueError:
        return {"seconds": seconds, "speedup": 1.0, "attempts": 0, "ended": said.stderr[-2000:]}
    ratio = (told["best"] or {}).get("speedup_eager") or {"median": 1.0}
    speedup = 1.0 if told["pytorch_stays"] else max(1.0, float(ratio["median"]))
    return {"seconds": seconds, "speedup": speedup, "attempts": told["attempts"], "ended": told["stopped"]}


def table(rows: Sequence[Row]) -> str:
    """By effort: seconds of all its runs; of tasks that have had each, the mean speedup and the share of `thorough`'s log."""
    by = {(str(row["task"]), str(row["effort"])): row for row in rows}
    whole = [task for task in dict.fromkeys(t for t, _ in by) if all((task, e) in by for e in EFFORTS)]
    lines = [f"{'effort':10} {'runs':>4} {'seconds: median, most':>22} {'mean speedup':>13} {'share of thorough':>18}"]
    for effort in EFFORTS:
        seconds = [_number(row, "seconds") for (_, e), row in by.items() if e == effort]
        if seconds:
            told = f"{effort:10} {len(seconds):4} {median(seconds):14.0f} {max(seconds):7.0f}"
            lines.append(told + (_reached(by, whole, effort) if whole else ""))
    return "\n".join([*lines, f"{len(whole)} tasks with each", ""])


def _reached(by: Mapping[tuple[str, str], Row], whole: Sequence[str], effort: str) -> str:
    logs = {task: math.log(_number(by[task, effort], "speedup")) for task in whole}
    most = {task: math.log(_number(by[task, "thorough"], "speedup")) for task in whole}
    shares = [logs[task] / most[task] for task in whole if most[task] > GONE]
    share = f"{median(shares):17.0%}" if shares else f"{'none':>17}"
    return f" {math.exp(sum(logs.values()) / len(logs)):12.2f}x {share}"


def _number(row: Row, name: str) -> float:
    return float(str(row[name]))


def arguments() -> argparse.Namespace:
    """What was asked for."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--target", default="cpu")
    found.add_argument("--size", default="medium")
    found.add_argument("--tasks", nargs="+", default=list(TASKS), help="folder and stem of tasks/, such as own/swiglu")
    found.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    found.add_argument("--join", type=Path, nargs="+", help="files of passes, put together into --out; nothing is run")
    found.add_argument("--seconds", type=float, default=3600.0, help="no run begins after so long")
    found.add_argument("--runs", type=Path, help="folder that keeps the runs; without it they are forgotten")
    found.add_argument("--out", type=Path, required=True)
    return found.parse_args()


if __name__ == "__main__":
    main()
