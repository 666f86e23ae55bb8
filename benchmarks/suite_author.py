"""What the built-in author masters of the suite: `python benchmarks/suite_author.py --target cpu --size small --out FILE`.

Its default kernel for each task is judged as in a search, against eager alone. With `--naive` it is the kernels under
`tasks/fsr/naive` that are judged. Resumable, and ended by `--seconds`, as `benchmarks/suite_admission.py`.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

from options import moves
from provenance import provenance
from pydantic import JsonValue
from suite import ROOT, Listed, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, ProposeError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.evaluation import BuildFailed, Compiled, Evaluation, Incorrect, Measured, Verified
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernel_file import read_kernel

Row = dict[str, JsonValue]
RIGHT = (Measured, Verified)


async def main(arguments: argparse.Namespace) -> None:
    """Judge what is not known yet, write, and print a table."""
    target, out = resolve_target(arguments.target), Path(arguments.out)
    end = time.monotonic() + arguments.seconds
    tasks = [t for t in listed(arguments.folder) if not arguments.naive or _naive(t).exists()]
    referee = Referee(Policy(baselines=("eager",), search_seconds=2.0))
    try:
        head = {**provenance(await referee.environment(target)), "target": target.name, "size": arguments.size}
        document = json.loads(out.read_text()) if out.exists() else {"rows": []}
        same = all(document.get(name) == head[name] for name in ("device", "versions", "target", "size"))
        rows: dict[str, Row] = {row["task"]: row for row in document["rows"]} if same else {}
        for task in tasks:
            if time.monotonic() > end:
                break
            if task.name not in rows:
                rows[task.name] = await _row(referee, task, arguments, target)
                sys.stdout.write(f"{json.dumps(rows[task.name])[:300]}\n")
            out.write_text(json.dumps({**head, "rows": list(rows.values())}, indent=1) + "\n")
    finally:
        await referee.close()
    right = sum(bool(row["right"]) for row in rows.values())
    sys.stdout.write(f"{right} right of {len(rows)} tried, {len(tasks)} listed, on {target.name}\n")


async def _row(referee: Referee, task: Listed, arguments: argparse.Namespace, target: Target) -> Row:
    row: Row = {"task": task.name, "right": False}
    try:
        admitted = await referee.admit(task.source(arguments.size), target)
        candidate = read_kernel(_naive(task)) if arguments.naive else next(moves(admitted))[1]
        found = await referee.evaluate(admitted, next(candidate.points()))
    except ProposeError as error:
        return {**row, "outcome": "not written", "why": str(error)}
    except KernelwrightError as error:
        return {**row, "outcome": "not judged", "why": str(error)}
    return {**row, "right": isinstance(found, RIGHT), "outcome": found.outcome, **_told(found)}


def _naive(task: Listed) -> Path:
    folder, _, name = task.name.partition("/")
    return ROOT / folder / "naive" / f"{name}.cu"


def _told(found: Evaluation) -> Row:
    match found:
        case Measured(timing=timing) if timing.clock == "device":
            eager = timing.against("eager")
            return {"latency_us": timing.latency_us, "speedup_eager": eager.speedup.median if eager else None}
        case Measured():
            # Whether it is right is asked here; on a CPU that others use as well, times would say nothing.
            return {}
        case Verified():
            return {"how": found.how}
        case Compiled():
            return {"how": found.build.warnings or found.build.compiler}
        case Incorrect():
            return {"why": found.evidence}
        case BuildFailed():
            return {"why": found.log[-500:]}
        case _:
            return {"why": found.model_dump_json(include={"reason", "evidence", "log", "because"})[:500]}


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--size", default="small")
    parser.add_argument("--out", required=True)
    parser.add_argument("--folder", default="", help="fsr or own; all of them without it")
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--seconds", type=float, default=540.0)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(parsed()))
