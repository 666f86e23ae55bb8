"""Each agent of the pair is paid for its own work: the role that wrote the kernel says by which reward."""

from kernelwright.records.attempt import Attempt
from kernelwright.reward.frontend import frontend
from kernelwright.reward.midend import midend


def frontend_midend(attempt: Attempt, parent: Attempt | None, best: Attempt | None) -> float:
    """`midend` for what the role `midend` wrote, `frontend` for anybody else's."""
    reward = midend if attempt.expansion.role == "midend" else frontend
    return reward(attempt, parent, best)
