"""Cells that never ran, for the tests of what is made of them."""

from kernelwright.bench.records import Arm, BenchPlan, Cell, CellResult, PlannedTask, TraceStep
from kernelwright.engine.config import RunConfig
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_ratio

CPU = Target(kind="cpu", arch="native", present=True)


def arm(strategy="fsr", proposer="author", reward="tritongym"):
    return Arm(strategy=strategy, proposer=proposer, reward=reward)


def step(number, speedup=None, *, right=None, each_s=2.0, tokens=0):
    """Attempt `number` from 0; right and this fast, or wrong."""
    ratio = sample_ratio(speedup) if speedup else None
    found = speedup is not None if right is None else right
    return TraceStep(
        outcome="measured" if found else "incorrect",
        right=found,
        eager=ratio,
        device_s=each_s * (number + 1),
        tokens=tokens * (number + 1),
        usd=0.0,
    )


def cell(task="t", final=None, search=(), *, seed=0, of=None, status="done", compiled=None, **more):
    """A cell whose attempts had these search speedups (None: wrong) and which ends at `final`."""
    steps = tuple(step(n, s) for n, s in enumerate(search))
    first = next((n for n, s in enumerate(steps, 1) if s.right), None)
    fields = {
        "correct": final is not None,
        "eager": sample_ratio(final) if final else None,
        "compile": sample_ratio(compiled) if compiled else None,
        "first_right": first,
        "steps": steps,
        "device_s": steps[-1].device_s if steps else 0.0,
        **more,
    }
    return CellResult(cell=Cell(task=task, arm=of or arm(), seed=seed), status=status, **fields)


def plan(arms=None, tasks=("a", "b"), seeds=(0,), **more):
    """A plan of these cells."""
    return BenchPlan(
        tasks=tuple(PlannedTask(name=name, file=f"{name}.py", source=name * 16) for name in tasks),
        arms=arms or (arm(),),
        seeds=seeds,
        target=CPU,
        config=RunConfig(cache=False).model_dump(mode="json", exclude={"seed", "proposer", "reward"}),
        suite="tasks of a test",
        precision="as written",
        **more,
    )
