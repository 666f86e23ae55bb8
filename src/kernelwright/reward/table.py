"""The table of rewards: pure functions of an attempt, its parent and the best before it.

Any old attempt can be scored again. To add one: write `reward/<name>.py` with a function of that name
and add its line here, and its name in `OF_SPEED` if a faster kernel always earns more.
"""

from collections.abc import Callable

from kernelwright.records.attempt import Attempt
from kernelwright.reward.frontend import frontend
from kernelwright.reward.frontend_midend import frontend_midend
from kernelwright.reward.log_speedup import log_speedup
from kernelwright.reward.midend import midend
from kernelwright.reward.tritongym import tritongym

Reward = Callable[[Attempt, Attempt | None, Attempt | None], float]
"""(attempt, first parent, best before it) to a number; higher is better."""

OF_SPEED = frozenset({"log_speedup", "tritongym"})
"""Those that order right kernels of one task by their speed and nothing else. The others look at roles, parents or a cap."""

REWARDS: dict[str, Reward] = {
    "frontend": frontend,
    "frontend_midend": frontend_midend,
    "log_speedup": log_speedup,
    "midend": midend,
    "tritongym": tritongym,
}
