"""Rewards: pure functions of an evaluation, its parent's and the best before it; and their table.

Whatever was judged can be scored, and scored again. To add one: a function here and its line in `REWARDS`, and its name
in `OF_SPEED` if a faster kernel always earns more. A distribution of somebody else brings one by an entry point
(docs/plugins.md).
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from kernelwright.errors import UsageError
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    TimedOut,
    Verified,
    is_right,
    speedup_over_eager,
)
from kernelwright.reward import training

Reward = Callable[[Evaluation, Evaluation | None, Evaluation | None], float]
"""(evaluation, its first parent's, the best before it) to a number; higher is better."""
SLOWEST = -4.0
"""Least log2 of a speedup that tells kernels apart, and what a wrong one earns: as bad as sixteen times slower than eager."""
MOST_GAIN = 3.0
"""More than this in one edit earns no more: a luckily slow parent must not be worth a search."""
MOST_LOG_GAIN = 2.0
"""The same on a logarithmic scale, where being slower costs as much as being faster earns."""
WRONG = -0.1
"""What a wrong kernel earns there: as a right one that is a tenth slower."""


class ByRole(NamedTuple):
    """A reward for each role that writes kernels: each is paid for its own work."""

    roles: Mapping[str, Reward]
    others: Reward
    """For every role that is not named."""


def tritongym(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """-10 unless it compiles, -5 unless it is right, then max(0, 10 / latency in ms), as in TritonGym's loop.

    Right without a time (`verified`, `compiled`) is 0: it earned no penalty and no speed.
    """
    match evaluation:
        case Measured(timing=timing):
            return max(0.0, 10.0 / (timing.latency_us / 1000.0))
        case Verified() | Compiled():
            return 0.0
        case Refused() | BuildFailed() | Crashed(stage="compile") | TimedOut(stage="compile"):
            return -10.0
    return -5.0


def log_speedup(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """log2 of the median speedup over eager, no lower than -4; -4 unless it is right; 0 if not timed.

    Twice as fast is worth the same for a short kernel and for a long one.
    """
    match evaluation:
        case Measured():
            ratio = speedup_over_eager(evaluation)
            return max(SLOWEST, math.log2(ratio.median)) if ratio and ratio.median > 0 else 0.0
        case Verified() | Compiled():
            return 0.0
    return SLOWEST


def frontend(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """1 if it is right; 0.5 if it was only compiled; 0.2 if it compiles and is wrong; else 0, suspects too.

    Speed earns the frontend agent nothing, so that it never gambles correctness for it.
    """
    match evaluation:
        case Measured() | Verified():
            return 1.0
        case Compiled():
            return 0.5
        case Crashed(stage="compile") | TimedOut(stage="compile"):
            return 0.0
        case Incorrect() | Crashed() | TimedOut():
            return 0.2
    return 0.0


def correctness(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """1 if it is right, else 0: where all of a group are wrong, nothing tells them apart, and nothing wrong is learnt."""
    return 1.0 if is_right(evaluation) else 0.0


def log_gain(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """ln(parent's time / its own), within 2 of 0, if right and timed; 0 if right and not timed, -0.1 if not right.

    What is wrong leaves the parent in place, at the price of a try; what is much slower is worse than that. Times are taken as
    `midend` takes them.
    """
    if not is_right(evaluation):
        return WRONG
    gain = _gain(evaluation, parent)
    return max(-MOST_LOG_GAIN, min(math.log(gain), MOST_LOG_GAIN)) if gain else 0.0


def midend(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """min(parent's time / its own, 3) if it is right, 0 if it is not; 0.1 if it works and was not timed.

    Both times are taken as speedups over eager, each measured beside its own eager. Beside a parent without a time, or
    none, it is 1: the first time that is taken is no gain over anything.
    """
    match evaluation:
        case Measured():
            gain = _gain(evaluation, parent)
            return 1.0 if gain is None else min(gain, MOST_GAIN)
        case Verified() | Compiled():
            return 0.1
    return 0.0


def raw_gain(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """`midend` without a cap, for ablations; 0 for a wrong kernel, and beside a parent without a time."""
    return _gain(evaluation, parent) or 0.0


def _gain(evaluation: Evaluation, parent: Evaluation | None) -> float | None:
    """The parent's time over its own; None where one of them has none."""
    before, after = speedup_over_eager(parent) if parent is not None else None, speedup_over_eager(evaluation)
    return after.median / before.median if before and after and before.median > 0 else None


def ungated_gain(evaluation: Evaluation, parent: Evaluation | None, best: Evaluation | None) -> float:
    """`midend` for ablations, where a wrong kernel that runs earns 1, as one that gains nothing."""
    return 1.0 if isinstance(evaluation, Incorrect) else midend(evaluation, parent, best)


REWARDS: dict[str, Reward | ByRole] = {
    "correctness": correctness,
    "cuda_agent": training.cuda_agent,
    "drkernel": training.drkernel,
    "frontend": frontend,
    "frontend_midend": ByRole({"midend": midend}, frontend),
    "kevin": training.kevin,
    "log_gain": log_gain,
    "log_speedup": log_speedup,
    "midend": midend,
    "regraph": training.regraph,
    "regraph_seed": training.regraph_seed,
    "tritonforge": training.tritonforge,
    "tritongym": tritongym,
    "verified_speedup": training.verified_speedup,
}
ABLATIONS: dict[str, Reward] = {"raw_gain": raw_gain, "ungated_gain": ungated_gain}
"""For trainers alone: what a reward must not be, to see what comes of it."""
OF_SPEED = frozenset({"log_speedup", "regraph", "regraph_seed", "tritongym"})
"""Those that order right kernels of one task by their speed and nothing else. The others look at roles, parents or a cap."""


def find_reward(name: str, role: str = "coder") -> Reward:
    """Find a reward by name, for a kernel that this role wrote.

    Raises:
        UsageError: there is none, or the plug-in that brings it is broken.
    """
    found = REWARDS.get(name) or ABLATIONS.get(name) or load_plugin("rewards", name)
    if found is None:
        raise UsageError(f"reward {name!r} must be one of {', '.join(reward_names())}")
    return found.roles.get(role, found.others) if isinstance(found, ByRole) else cast("Reward", found)


def reward_names() -> tuple[str, ...]:
    """Every name that `find_reward` takes."""
    return tuple(dict.fromkeys((*REWARDS, *plugin_names("rewards"))))


def is_reward(name: str) -> bool:
    """Whether there is a reward of that name; a plug-in is not imported for that."""
    return name in REWARDS or name in plugin_names("rewards")
