"""The table of rewards: pure functions of an attempt, its parent and the best before it.

Any old attempt can be scored again. To add one: write `reward/<name>.py` with a function of that name
and add its line here.
"""

from collections.abc import Callable

from kernelwright.records.attempt import Attempt
from kernelwright.reward.log_speedup import log_speedup
from kernelwright.reward.tritongym import tritongym

Reward = Callable[[Attempt, Attempt | None, Attempt | None], float]
"""(attempt, first parent, best before it) to a number; higher is better."""

REWARDS: dict[str, Reward] = {
    "log_speedup": log_speedup,
    "tritongym": tritongym,
}
