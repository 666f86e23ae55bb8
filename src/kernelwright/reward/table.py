"""The table of rewards: pure functions of an evaluation, its parent's and the best before it.

Whatever was judged can be scored, and scored again. To add one: write `reward/<name>.py` with a function of that name
and add its line here, and its name in `OF_SPEED` if a faster kernel always earns more. A distribution of somebody else
brings one by an entry point (docs/plugins.md).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from kernelwright.errors import UsageError
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.records.evaluation import Evaluation
from kernelwright.reward.frontend import frontend
from kernelwright.reward.log_speedup import log_speedup
from kernelwright.reward.midend import midend
from kernelwright.reward.tritongym import tritongym

Reward = Callable[[Evaluation, Evaluation | None, Evaluation | None], float]
"""(evaluation, its first parent's, the best before it) to a number; higher is better."""


class ByRole(NamedTuple):
    """A reward for each role that writes kernels: each is paid for its own work."""

    roles: Mapping[str, Reward]
    others: Reward
    """For every role that is not named."""


OF_SPEED = frozenset({"log_speedup", "tritongym"})
"""Those that order right kernels of one task by their speed and nothing else. The others look at roles, parents or a cap."""

REWARDS: dict[str, Reward | ByRole] = {
    "frontend": frontend,
    "frontend_midend": ByRole({"midend": midend}, frontend),
    "log_speedup": log_speedup,
    "midend": midend,
    "tritongym": tritongym,
}


def find_reward(name: str, role: str = "coder") -> Reward:
    """Find a reward by name, for a kernel that this role wrote.

    Raises:
        UsageError: there is none, or the plug-in that brings it is broken.
    """
    found = REWARDS.get(name) or load_plugin("rewards", name)
    if found is None:
        raise UsageError(f"reward {name!r} must be one of {', '.join(reward_names())}")
    return found.roles.get(role, found.others) if isinstance(found, ByRole) else cast("Reward", found)


def reward_names() -> tuple[str, ...]:
    """Every name that `find_reward` takes."""
    return tuple(dict.fromkeys((*REWARDS, *plugin_names("rewards"))))


def is_reward(name: str) -> bool:
    """Whether there is a reward of that name; a plug-in is not imported for that."""
    return name in REWARDS or name in plugin_names("rewards")
