"""Runs every example on one target and writes its final figures: `python benchmarks/examples.py --target cpu --out FILE`.

Each row is the final measurement of one run: fresh inputs, head to head. A task on which nothing was right stops the
bench, since a row is missing then. On the GPU the examples run at sizes that fill it.
"""

import asyncio
import re
import tempfile
from pathlib import Path

from campaign import Campaign, Row, command

from kernelwright.api import OptimizeRequest, optimize
from kernelwright.engine.budget import Budget
from kernelwright.engine.config import RunConfig
from kernelwright.records.evaluation import Measured
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


async def measure(campaign: Campaign) -> None:
    """Run each example; the first run says what the device is."""
    asked = campaign.asked
    config = RunConfig(budget=Budget(proposals=asked.budget), cache=False)
    await campaign.begin_on_device(numerics=Policy().numerics)
    for name in campaign.left(campaign.chosen(EXAMPLES), lambda name: (name, asked.target)):
        with tempfile.TemporaryDirectory() as folder:
            task = sized(Path("examples") / f"{name}.py", asked.target, Path(folder))
            request = OptimizeRequest(task=task, target=asked.target, config=config, runs=Path(folder) / "runs")
            result = await asyncio.to_thread(optimize, request)
            store = RunStore.open(Path(result.summary.folder))
            campaign.put({"task": name, "target": asked.target, **_figures(store, name)})
            store.close()


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


def _figures(store: RunStore, name: str) -> Row:
    outcome = store.outcome()
    final = outcome.final.evaluation if outcome and outcome.final else None
    if not isinstance(final, Measured):
        raise SystemExit(f"{name}: no kernel stood its final measurement: {outcome}")
    row: Row = {"latency_us": final.timing.latency_us}
    for baseline in ("eager", "compile"):
        versus = final.timing.against(baseline)
        if versus is None:
            raise SystemExit(f"no {baseline} baseline was measured")
        row[f"speedup_{baseline}"] = versus.speedup.model_dump(include={"median", "low", "high"})
        row[f"verdict_{baseline}"] = versus.verdict
    return row


def main() -> None:
    """Run what is missing."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--budget", type=int, default=12, help="proposals of a run")
    campaign = Campaign(parser.parse_args(), key=("task", "target"))
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: "\n".join(f"{r['task']:24} {r['speedup_eager']} {r['speedup_compile']}" for r in rows))


if __name__ == "__main__":
    main()
