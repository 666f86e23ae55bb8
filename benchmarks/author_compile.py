"""Compiles the author's default Triton kernels for a GPU that is not here: `python benchmarks/author_compile.py --out FILE`.

Each task at its full size, planned on shapes alone and launched on tensors without memory, as the referee does where a GPU is.
The table names what does not compile, what needs more shared memory than a block has, and what spills. A kernel that is known
is not compiled again.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from author import tasks_of
from author_plan import planned
from pydantic import JsonValue
from suite import ROOT

from kernelwright.errors import ProposeError
from kernelwright.evaluate.triton.capture import Captured, capture
from kernelwright.knowledge.hardware import Hardware, hardware
from kernelwright.propose.author.designs import DESIGNS
from kernelwright.records.task import Target
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

Row = dict[str, JsonValue]
SPILLS = 64
"""Bytes of spills for each thread from which on a kernel is named."""


def main(arguments: argparse.Namespace) -> None:
    """Compile what is not known yet, write the rows, and print the table."""
    out, device = Path(arguments.out), hardware(arguments.target)
    known: list[Row] = json.loads(out.read_text())["rows"] if out.exists() else []
    rows = {str(row["task"]): row for row in known}
    for listed in tasks_of(arguments.folder):
        if arguments.only in listed.name:
            rows[listed.name] = _row(listed.name, device, rows.get(listed.name, {}))
            out.write_text(json.dumps({"target": arguments.target, "rows": list(rows.values())}, indent=1) + "\n")
    sys.stdout.write(table(list(rows.values()), device))


def _row(name: str, device: Hardware, before: Row) -> Row:
    size = "full" if name.startswith("field/") else "large"
    source = read_task(with_size(ROOT / f"{name}.py", size))
    start = time.monotonic()
    try:
        task = planned(source, Target(kind="cuda", arch=device.arch, present=True))
        design = DESIGNS["triton"](task)
        candidate = design.write(design.default).at(())
    except ProposeError as error:
        return {"task": name, "declined": str(error)[:300]}
    except Exception as error:  # noqa: BLE001 (a task's own code may look at values, which these tensors do not have)
        return {"task": name, "declined": f"cannot be planned on shapes alone: {error}"[:300]}
    text = sha256(candidate.source.encode()).hexdigest()[:16]
    if before.get("text") == text:
        return before
    found = capture(candidate, task.source.source, task.workload, device)
    row: Row = {"task": name, "text": text, "fault": "", "kernels": []}
    if isinstance(found, Captured):
        row["kernels"] = [kernel.model_dump(exclude_none=True) for kernel in found.facts.kernels]
    else:
        row["fault"] = found.log[-1500:]
    row["seconds"] = round(time.monotonic() - start, 2)
    sys.stderr.write(f"{name} {row['seconds']} s {str(row['fault'])[-200:]}\n")
    return row


def table(rows: Sequence[Row], device: Hardware) -> str:
    """What is wrong, a line each, and the count."""
    lines = [f"{row['task']}: {str(row['fault'])[-300:]}" for row in rows if row.get("fault")]
    for row in rows:
        for kernel in row.get("kernels") or []:  # type: ignore[union-attr]
            assert isinstance(kernel, dict)
            if int(str(kernel.get("shared_bytes") or 0)) > device.shared_bytes_block:
                lines.append(f"{row['task']}: {kernel['name']} wants {kernel['shared_bytes']} bytes of shared memory")
            if int(str(kernel.get("spill_bytes") or 0)) > SPILLS:
                lines.append(f"{row['task']}: {kernel['name']} spills {kernel['spill_bytes']} bytes")
    compiled = sum(bool(row.get("kernels")) for row in rows)
    return "\n".join([*lines, f"{compiled} of {len(rows)} tasks compile for {device.arch}", ""])


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--out", required=True)
    parser.add_argument("--folder", default="", help="a folder of tasks/; all of them without it")
    parser.add_argument("--only", default="")
    return parser.parse_args()


if __name__ == "__main__":
    main(parsed())
