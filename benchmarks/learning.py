"""Is learning real? `python benchmarks/learning.py TARGET OUT.json [BUDGET SEEDS [TASK,TASK…]]`.

`python benchmarks/learning.py join OUT.json PART.json…` puts parts that were measured on one device together.

Every example, several seeds, the same budget of proposals: `tritongym` with feedback against the same strategy with
the feedback withheld. A run's best is measured once more before it counts, so that neither arm profits from having
picked its luckiest sample. The result is the geometric mean of the ratio of bests, with a bootstrap interval.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from provenance import provenance

from kernelwright.engine.budget import Budget
from kernelwright.engine.config import Remeasurement, RunConfig
from kernelwright.engine.opening import new_card
from kernelwright.engine.run import Parts, run
from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.propose.table import PROPOSERS
from kernelwright.records.attempt import Attempt, fastest
from kernelwright.records.evaluation import Measured
from kernelwright.records.policy import Policy
from kernelwright.records.task import Task
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task

EXAMPLES = ("mse_loss", "softmax", "layer_norm", "rms_norm", "gelu_bias_residual", "cross_entropy")


async def main(target_name: str, out: Path, budget: int, seeds: int, names: tuple[str, ...]) -> None:
    """Run both arms, print what happens, write everything."""
    referee = Referee(Policy(baselines=("eager",)))
    target, pairs, origin = resolve_target(target_name), [], {}
    known = tempfile.TemporaryDirectory()  # a candidate that both arms write is judged once
    cache = EvaluationCache(Path(known.name) / "known.sqlite", doubtful=True)
    try:
        for name in names:
            task = await referee.admit(read_task(Path("examples") / f"{name}.py"), target)
            environment = await referee.environment()
            origin = origin or provenance(environment)
            bests: dict[str, float] = {}
            for seed in range(seeds):
                pair: dict[str, object] = {"task": name, "seed": seed}
                for arm in ("feedback", "withheld"):
                    config = RunConfig(
                        seed=seed, in_flight=1, withhold_feedback=arm == "withheld",
                        budget=Budget(proposals=budget), remeasurement=Remeasurement(enabled=False), policy=referee.policy,
                    )  # fmt: skip
                    with tempfile.TemporaryDirectory() as folder:
                        store = RunStore.create(Path(folder) / "run", new_card(task, environment, config))
                        await run(store, config, Parts(PROPOSERS[config.proposer](), referee, cache=cache))
                        best = fastest(store.attempts())
                    pair[arm] = await _best(referee, task, best, bests)
                pairs.append(pair)
                sys.stderr.write(json.dumps(pair) + "\n")
                settings = {**origin, "target": target_name, "budget": budget, "seeds": seeds}
                out.write_text(json.dumps({**settings, **_summary(pairs), "pairs": pairs}, indent=1) + "\n")
    finally:
        await referee.close()
        cache.close()
        known.cleanup()


def join(out: Path, parts: list[Path]) -> None:
    """One document from several; the settings are the first one's."""
    documents = [json.loads(p.read_text()) for p in parts]
    pairs = [pair for d in documents for pair in d["pairs"]]
    document = {**documents[0], **_summary(pairs), "pairs": pairs}
    sys.stderr.write(json.dumps({k: v for k, v in document.items() if k != "pairs"}) + "\n")
    out.write_text(json.dumps(document, indent=1) + "\n")


async def _best(referee: Referee, task: Task, best: Attempt | None, bests: dict[str, float]) -> float:
    if best is None:
        return 0.0
    candidate = best.proposal.candidate
    if candidate.id not in bests:
        found = await referee.evaluate(task, candidate, "search")
        versus = found.timing.against("eager") if isinstance(found, Measured) else None
        bests[candidate.id] = versus.speedup.median if versus else 0.0
    return bests[candidate.id]


def _summary(pairs: list[dict[str, object]]) -> dict[str, object]:
    both = [(p["feedback"], p["withheld"]) for p in pairs if p["feedback"] and p["withheld"]]
    if not both:
        return {"ratio": None}
    logs = np.log([float(str(a)) / float(str(b)) for a, b in both])
    generator = np.random.default_rng(0)
    means = np.exp(logs[generator.integers(0, logs.size, (4000, logs.size))].mean(axis=1))
    low, high = np.quantile(means, [0.025, 0.975])
    found_by = {arm: sum(bool(p[arm]) for p in pairs) for arm in ("feedback", "withheld")}
    mean = float(np.exp(logs.mean()))
    return {
        "ratio": {"geometric_mean": mean, "low": float(low), "high": float(high), "confidence": 0.95},
        "pairs_won": int((logs > 0.005).sum()),
        "pairs_lost": int((logs < -0.005).sum()),
        "pairs_counted": int(logs.size),
        "runs_that_found_a_kernel": found_by,
    }


if __name__ == "__main__":
    if sys.argv[1] == "join":
        join(Path(sys.argv[2]), [Path(p) for p in sys.argv[3:]])
    else:
        budget, seeds = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (8, 5)
        names = tuple(sys.argv[5].split(",")) if len(sys.argv) > 5 else EXAMPLES
        asyncio.run(main(sys.argv[1], Path(sys.argv[2]), budget, seeds, names))
