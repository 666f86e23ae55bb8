"""What more effort brings: `python benchmarks/efforts.py --target cpu --out FILE`, with `--target cuda` on a GPU.

Each task is optimised by the command line once with each effort, in runs that remember nothing of each other, as somebody
would who tries the tool: wall seconds from the first to the last, start and admission included, and the speedup over eager
of the final (1 where PyTorch stays). The share of an effort is the logarithm of its speedup over that of `thorough`.
`--efforts quick` runs some alone. `--runs FOLDER` keeps the runs, to see in their reports where the time went.
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

from campaign import Campaign, Row, command

from kernelwright.tasks.files import with_size

ROOT = Path(__file__).parents[1]
EFFORTS = ("quick", "standard", "thorough")
TASKS = ("own/log_softmax", "own/swiglu", "fsr/layer_norm", "own/huber_loss", "own/row_variance", "own/kl_divergence")
LIMIT_S = {"quick": 120.0, "standard": 600.0, "thorough": 1800.0}
"""Wall seconds after which a run is ended, and counts as nothing found: twice what the first two are meant to take."""
GONE = 0.02
"""Logarithm of a speedup under which there is nothing to have a share of."""


def main() -> None:
    """Run what is missing, and print the table."""
    campaign = Campaign(arguments(), key=("task", "effort"), same=("size",))
    campaign.run(lambda: measure(campaign))
    campaign.show(table)


async def measure(campaign: Campaign) -> None:
    """One run after the other."""
    asked = campaign.asked
    await campaign.begin_on_device(size=asked.size)
    tasks = campaign.chosen(asked.tasks)
    for task, effort in campaign.left([(task, effort) for task in tasks for effort in asked.efforts]):
        campaign.put({"task": task, "effort": effort, **ran(task, effort, asked)})


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
    by = {(row["task"], row["effort"]): row for row in rows}
    whole = [task for task in dict.fromkeys(t for t, _ in by) if all((task, e) in by for e in EFFORTS)]
    lines = [f"{'effort':10} {'runs':>4} {'seconds: median, most':>22} {'mean speedup':>13} {'share of thorough':>18}"]
    for effort in EFFORTS:
        seconds = [row["seconds"] for (_, e), row in by.items() if e == effort]
        if seconds:
            told = f"{effort:10} {len(seconds):4} {median(seconds):14.0f} {max(seconds):7.0f}"
            lines.append(told + (_reached(by, whole, effort) if whole else ""))
    return "\n".join([*lines, f"{len(whole)} tasks with each", ""])


def _reached(by: Mapping[tuple[str, str], Row], whole: Sequence[str], effort: str) -> str:
    logs = {task: math.log(by[task, effort]["speedup"]) for task in whole}
    most = {task: math.log(by[task, "thorough"]["speedup"]) for task in whole}
    shares = [logs[task] / most[task] for task in whole if most[task] > GONE]
    share = f"{median(shares):17.0%}" if shares else f"{'none':>17}"
    return f" {math.exp(sum(logs.values()) / len(logs)):12.2f}x {share}"


def arguments() -> argparse.Namespace:
    """What was asked for."""
    found = command(__doc__, seconds=3600.0)
    found.add_argument("--size", default="medium")
    found.add_argument("--tasks", nargs="+", default=list(TASKS), help="folder and stem of tasks/, such as own/swiglu")
    found.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    found.add_argument("--runs", type=Path, help="folder that keeps the runs; without it they are forgotten")
    return found.parse_args()


if __name__ == "__main__":
    main()
