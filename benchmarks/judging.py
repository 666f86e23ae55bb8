"""What judging one candidate costs: `python benchmarks/judging.py TASK.py TARGET OUT.json`.

The kernel that the built-in author starts from is judged three times with everything about the task known, and
once more for good. Written down: wall time from the candidate's text to its verdict, seconds by stage, speedups, and
the share of the read bandwidth that the same run measured.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from options import moves
from provenance import provenance

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.evaluation import Evaluation, Measured
from kernelwright.records.policy import Effort
from kernelwright.tasks.table import read_task

ORDER: tuple[Effort, ...] = ("search", "search", "search", "final")


async def main(task_file: Path, target_name: str, out: Path) -> None:
    """Measure and write."""
    referee = Referee()
    try:
        task = await referee.admit(read_task(task_file), resolve_target(target_name))
        environment = await referee.environment()
        _, written = next(moves(task))
        candidate = next(written.points())
        await referee.evaluate(task, candidate)  # compiles the baselines, once for the task
        rows = []
        for effort in ORDER:
            start = time.perf_counter()
            found = await referee.evaluate(task, candidate, effort)
            rows.append(_row(effort, time.perf_counter() - start, found))
            sys.stderr.write(json.dumps({k: v for k, v in rows[-1].items() if k != "samples"}) + "\n")
    finally:
        await referee.close()
    shape = [list(t.shape) for t in task.workload.tensors]
    read = {"read_gbps": environment.device.memory_gbps}
    document = {**provenance(environment), "task": task.name, "inputs": shape, **read, "judgements": rows}
    out.write_text(json.dumps({**document, "kernel": candidate.source}, indent=1) + "\n")


def _row(effort: Effort, wall_s: float, found: Evaluation) -> dict[str, object]:
    row: dict[str, object] = {"effort": effort, "wall_s": wall_s, "outcome": found.outcome}
    row["stages_s"] = found.stage_seconds
    if not isinstance(found, Measured):
        return {**row, "found": found.model_dump(mode="json")}
    timing, roofline = found.timing, found.roofline
    return {
        **row,
        "latency_us": timing.latency_us,
        "speedup": {v.baseline: v.speedup.model_dump() for v in timing.versus},
        "achieved_gbps": roofline.achieved_gbps,
        "share_of_read_bandwidth": roofline.fraction,
        "samples": {s.name: s.samples_us for s in timing.arms},
    }


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
