"""Runs scripted searches in forked children, to be killed: imports once, forks for each line on stdin.

A line is `seed folder log`; the child creates the run in the folder or resumes it, and exits with 0 when the
run is complete.
"""

import asyncio
from pathlib import Path

from zygote import serve

from kernelwright.engine.budget import Budget
from kernelwright.engine.config import Autotune, RunConfig
from kernelwright.engine.run import Parts, run
from kernelwright.records.candidate import Tunable
from kernelwright.search.independent import BestOfNConfig
from kernelwright.search.tritongym import TritonGymConfig
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer


def config_of(seed: int) -> RunConfig:
    """Every fourth run is the sequential strategy; the others keep several expansions in flight."""
    strategy = TritonGymConfig() if seed % 4 == 3 else BestOfNConfig()
    return RunConfig(
        seed=seed,
        in_flight=4,
        budget=Budget(proposals=16, device_s=100.0),
        strategy=strategy,
        autotune=Autotune(points=2),
    )


def play(number: str, place: str, log: str) -> None:
    """Begin the run, or go on with it, until it is complete."""
    seed, folder = int(number), Path(place)
    exists = (folder / FILE).exists()
    store = RunStore.open(folder, writing=True) if exists else RunStore.create(folder, sample_card())
    tunables = (Tunable(name="BLOCK", values=(1, 2)),) if seed % 2 else ()
    parts = Parts(
        ScriptedProposer(qualities=12, tunables=tunables, delay_s=0.004),
        ScriptedEvaluator(seed=seed, delay_s=0.02, log=Path(log)),
    )
    ending = asyncio.run(run(store, config_of(seed), parts))
    assert ending.outcome.complete
    store.close()


if __name__ == "__main__":
    serve(play)
