"""Whom a candidate is timed against, and what is known of a baseline from an earlier contest.

In a search on a GPU, eager is timed beside every candidate: it must run anyway, to say what each timed result should be.
The other baselines are timed in the first contest on a task, or were in an earlier run's; after that a candidate's
speedup over one of them is its own speedup over eager times the known ratio, with an interval for which both must hold,
and marked as cached. The search's figures are never published; a final times everybody anew.
"""

from collections.abc import Sequence

from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.profile import statistics
from kernelwright.evaluate.profile.stopping import Stopping, schedule
from kernelwright.records.measure import BaselineName, Ratio, Versus
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Target

ON_GPU_ONLY = ("compile_max", "graph")


def asked(policy: Policy, effort: Effort, target: Target) -> tuple[BaselineName, ...]:
    """The baselines that a judgement of this effort names."""
    names = [*policy.baselines, *(policy.final_baselines if effort == "final" else ())]
    return tuple(n for n in dict.fromkeys(names) if target.kind == "cuda" or n not in ON_GPU_ONLY)


def made(
    machine: Machine, session: Session, names: Sequence[BaselineName]
) -> tuple[list[BaselineName], tuple[str, ...]]:
    """Those that are ready to be timed, and of the others why they are not."""
    why = {name: machine.prepare(session, name) for name in names}
    return [n for n in names if not why[n]], tuple(f"{n}: {told}" for n, told in why.items() if told)


def to_time(session: Session, names: Sequence[BaselineName], effort: Effort) -> list[BaselineName]:
    """Those that must be timed beside this candidate."""
    cached = effort == "search" and session.policy.cached_baselines and session.task.target.kind == "cuda"
    return [n for n in names if not cached or n not in session.known]


def remember(session: Session, samples: dict[str, list[float]], rule: Stopping) -> None:
    """Keep how the baselines of a contest compare with eager."""
    for name in rule.baselines:
        if name != "eager":
            looks, half = len(schedule(rule.most)), (1 + rule.confidence) / 2
            session.known[name] = statistics.ratio(samples[name], samples["eager"], half, looks)


def through_eager(
    known: Ratio, name: BaselineName, samples: dict[str, list[float]], rule: Stopping, effect_times: float = 1.0
) -> Versus:
    """The comparison with a baseline that was not there, by way of eager; wider, and marked.

    `known` says how many times eager's time it takes, with half of the error that `rule` allows.
    """
    half = (1 + rule.confidence) / 2
    eager = statistics.ratio(samples["eager"], samples["candidate"], half, len(schedule(rule.most)))
    found = statistics.through(eager, known)
    verdict = statistics.verdict(found, rule.effect(samples["eager"]) * effect_times)
    return Versus(baseline=name, speedup=found, verdict=verdict, cached=True)
