"""Runs every example on one target and writes its final figures: `python benchmarks/examples.py TARGET OUT.json [BUDGET]`.

Each row is the final measurement of one run: fresh inputs, head to head. A task on which nothing was right stops the
bench, since a row is missing then. On the GPU the examples run at sizes that fill it.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from provenance import provenance
from pydantic import JsonValue

from kernelwright.api import OptimizeRequest, optimize
from kernelwright.engine.budget import Budget
from kernelwright.engine.config import RunConfig
from kernelwright.records.evaluation import Measured
from kernelwright.records.measure import BaselineName, Timing
from kernelwright.records.policy import Policy
from kernelwright.store.run import RunStore

CUDA_SIZES = {
    "mse_loss": (32768, 32768),
    "softmax": (16384, 8192),
    "layer_norm": (32768, 4096),
    "rms_norm": (32768, 4096),
    "gelu_bias_residual": (32768, 4096),
    "cross_entropy": (16384, 8192),
}
EXAMPLES = tuple(CUDA_SIZES)


def main(target: str, out: Path, budget: int) -> None:
    """Measure and write."""
    config = RunConfig(budget=Budget(proposals=budget), cache=False)
    rows: list[JsonValue] = []
    origin: dict[str, JsonValue] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in EXAMPLES:
            task = sized(Path("examples") / f"{name}.py", target, Path(folder))
            result = optimize(OptimizeRequest(task=task, target=target, config=config, runs=Path(folder) / "runs"))
            store = RunStore.open(Path(result.summary.folder))
            origin = origin or provenance(store.card.environment)
            rows.append(_row(store, name, target))
            sys.stderr.write(f"{json.dumps(rows[-1])}\n")
            out.write_text(json.dumps({**origin, "numerics": Policy().numerics, "rows": rows}, indent=1) + "\n")


def sized(example: Path, target: str, folder: Path) -> Path:
    """The example at its own size, or on a GPU at one that fills it."""
    if target != "cuda":
        return example
    rows, columns = CUDA_SIZES[example.stem]
    text, changed = re.subn(r"(?m)^([A-Z]+, [A-Z]+) = \d+, \d+$", rf"\1 = {rows}, {columns}", example.read_text())
    if changed != 1:
        raise SystemExit(f"{example} has no line of sizes to change")
    path = folder / example.name
    path.write_text(text)
    return path


def _row(store: RunStore, name: str, target: str) -> dict[str, JsonValue]:
    outcome = store.outcome()
    final = outcome.final.evaluation if outcome and outcome.final else None
    if not isinstance(final, Measured):
        raise SystemExit(f"{name}: no kernel stood its final measurement: {outcome}")
    timing = final.timing
    return {
        "task": name,
        "target": target,
        "latency_us": timing.latency_us,
        "speedup_eager": _speedup(timing, "eager"),
        "speedup_compile": _speedup(timing, "compile"),
        "verdict_eager": _verdict(timing, "eager"),
        "verdict_compile": _verdict(timing, "compile"),
    }


def _speedup(timing: Timing, baseline: BaselineName) -> dict[str, JsonValue]:
    versus = timing.against(baseline)
    if versus is None:
        raise SystemExit(f"no {baseline} baseline was measured")
    return versus.speedup.model_dump(include={"median", "low", "high"})


def _verdict(timing: Timing, baseline: BaselineName) -> str | None:
    versus = timing.against(baseline)
    return versus.verdict if versus else None


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 12)
