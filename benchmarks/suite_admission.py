"""Admits every task of the suite: `python benchmarks/suite_admission.py --target cuda --size large --out FILE`.

Resumable: what FILE has of the same task text, device and versions is not examined again; a row is written as soon as it is
known. `--seconds` ends the pass before that long is over, and the same command goes on. Exit code 0: all of it is fit.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from provenance import provenance
from pydantic import JsonValue
from suite import Listed, listed

from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, TaskError
from kernelwright.evaluate.referee import Referee
from kernelwright.records.admission import Fitness
from kernelwright.records.base import identity
from kernelwright.records.task import Target

Row = dict[str, JsonValue]


async def main(arguments: argparse.Namespace) -> int:
    """Examine what is not known yet, write, and print a table."""
    tasks, target, out = listed(arguments.folder), resolve_target(arguments.target), Path(arguments.out)
    end = time.monotonic() + arguments.seconds
    referee = Referee()
    try:
        origin = provenance(await referee.environment(target))
        rows = _known(out, origin)
        head = {**origin, "target": target.name, "size": arguments.size}
        for task in tasks:
            if time.monotonic() > end:
                break
            key = identity("suite", {"source": task.source(arguments.size).identity_fields(), "target": target.name})
            if key not in rows:
                rows[key] = {"key": key, **await _row(referee, task, arguments.size, target)}
            out.write_text(json.dumps({**head, "rows": list(rows.values())}, indent=1) + "\n")
    finally:
        await referee.close()
    done = [row for row in rows.values() if row["task"] in {t.name for t in tasks} and row["size"] == arguments.size]
    sys.stdout.write(_table(done, len(tasks), target))
    return int(len(done) < len(tasks) or not all(row["fit"] for row in done))


def _known(out: Path, origin: Mapping[str, JsonValue]) -> dict[str, Row]:
    """Rows of an earlier pass on the same device with the same versions, but for those that the machine's trouble made."""
    if not out.exists():
        return {}
    document = json.loads(out.read_text())
    if any(document[name] != origin[name] for name in ("device", "versions")):
        return {}
    return {row["key"]: row for row in document["rows"] if row["reason"] != "not_examined"}


async def _row(referee: Referee, task: Listed, size: str, target: Target) -> Row:
    start = time.monotonic()
    row: Row = {"task": task.name, "size": size, "family": task.family, "fit": True, "reason": None}
    try:
        row |= _figures(await referee.examine(task.source(size), target))
    except TaskError as error:
        row |= {"fit": False, "reason": error.reason, "message": str(error)}
    except KernelwrightError as error:
        row |= {"fit": False, "reason": "not_examined", "message": str(error)}
    return {**row, "seconds": round(time.monotonic() - start, 2)}


def _figures(found: Fitness) -> Row:
    checks = {check.name: check.figure for check in found.checks}
    warned: list[JsonValue] = [f"{c.name}: {c.figure}" for c in found.checks if c.status == "warned"]
    return {"reference": checks["reference"], "duration": checks["duration"], "warnings": warned}


def _table(rows: list[Row], wanted: int, target: Target) -> str:
    lines = []
    for row in rows:
        told = row["duration"] if row["fit"] else f"{row['reason']}: {str(row['message']).splitlines()[-1]}"
        warned = len(row["warnings"]) if isinstance(row.get("warnings"), list) else 0
        notes = f"; {warned} warned" if warned else ""
        lines.append(
            f"{row['task']:32} {'fit' if row['fit'] else 'NOT FIT':8} {row['seconds']:>6} s  {told}{notes}\n"[:160]
        )
    fit = sum(bool(row["fit"]) for row in rows)
    lines.append(f"{fit} fit of {len(rows)} examined, {wanted} listed, on {target.name}\n")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--size", default="small")
    parser.add_argument("--out", required=True)
    parser.add_argument("--folder", default="", help="fsr or own; all of them without it")
    parser.add_argument("--seconds", type=float, default=210.0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parsed())))
