"""A float32 product's error and speed beside the vendor's: `python benchmarks/product_errors.py --target cuda --out FILE`.

The author's default for the square product of the field, on uniform and on normal inputs: the referee's own figures of
error against fp64, eager's beside them, and the ratios of a comparison in turns.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from provenance import provenance
from pydantic import JsonValue

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.propose.author.designs import DESIGNS
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

TASK = Path(__file__).parents[1] / "tasks" / "field" / "operators" / "matmul_square.py"
INPUTS = {"uniform": "torch.rand(", "normal": "torch.randn("}
Row = dict[str, JsonValue]


async def measured(target: Target, size: str) -> Row:
    """Both rows, with where they come from."""
    referee, source = Referee(), read_task(with_size(TASK, size))
    try:
        rows: list[JsonValue] = []
        for name, drawn in INPUTS.items():
            text = source.source.replace(INPUTS["uniform"], drawn)
            rows.append({"inputs": name, **await row(referee, source.model_copy(update={"source": text}), target)})
        return {**provenance(await referee.environment(target)), "target": target.name, "size": size, "rows": rows}
    finally:
        await referee.close()


async def row(referee: Referee, source: TaskSource, target: Target) -> Row:
    """The author's first kernel for one of them, judged."""
    task = await referee.admit(source, target)
    design = DESIGNS["triton" if target.kind == "cuda" else "cpp"](task)
    found = await referee.evaluate(task, design.write(design.default), "search")
    return {"schedule": design.default.model_dump(), "outcome": found.outcome, **errors(found), **ratios(found)}


def errors(found: Evaluation) -> Row:
    """Relative to fp64, by input distribution: the kernel's and eager's."""
    if not isinstance(found, Measured | Incorrect):
        return {}
    return {"errors": {c.distribution: [c.error, c.reference_error] for c in found.accuracy.cases}}


def ratios(found: Evaluation) -> Row:
    """How many times as fast as each baseline: median, lower end, upper end."""
    if not isinstance(found, Measured):
        return {}
    each = {v.baseline: [v.speedup.median, v.speedup.low, v.speedup.high] for v in found.timing.versus}
    return {"latency_us": found.timing.latency_us, **each}


def main() -> None:
    """Measure, write, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--size", default="full")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    found = asyncio.run(measured(resolve_target(asked.target), asked.size))
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(json.dumps(found["rows"], indent=1) + "\n")


if __name__ == "__main__":
    main()
