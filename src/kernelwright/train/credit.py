"""Credit: from the rewards of a group's trajectories to one return for each turn. Pure functions.

A reward of None is a step of which nothing is known; its return is None too, and it counts in nobody's.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

Rewards = Sequence[Sequence[float | None]]
"""By trajectory and turn; all trajectories of one task."""
Returns = list[list[float | None]]


def own(rewards: Rewards, discount: float) -> Returns:
    """Each turn its own reward: what GRPO compares within the group."""
    return [list(turns) for turns in rewards]


def kevin(rewards: Rewards, discount: float) -> Returns:
    """The discounted sum of a turn's own and later rewards (Kevin-32B, arXiv 2507.11948)."""
    return [_discounted(turns, discount) for turns in rewards]


def trloo(rewards: Rewards, discount: float) -> Returns:
    """Discounted returns less the mean of the *other* trajectories at the same turn (Dr. Kernel, arXiv 2602.05885).

    A mean that holds the sample itself biases the gradient of several turns. With no other known return it is 0.
    """
    returns = kevin(rewards, discount)
    turns = max((len(row) for row in returns), default=0)
    columns = [[row[t] if t < len(row) else None for row in returns] for t in range(turns)]
    return [[_against_others(columns[t], i) for t in range(len(row))] for i, row in enumerate(returns)]


CREDITS: Mapping[str, Callable[[Rewards, float], Returns]] = {"group": own, "kevin": kevin, "trloo": trloo}


def flat(returns: Returns) -> bool:
    """Whether no two known returns of a group differ, so that the group teaches nothing."""
    known = [value for row in returns for value in row if value is not None]
    return not known or max(known) - min(known) < 1e-6


def _discounted(turns: Sequence[float | None], discount: float) -> list[float | None]:
    found: list[float | None] = []
    later = 0.0
    for reward in reversed(turns):
        later = (reward or 0.0) + discount * later
        found.append(None if reward is None else later)
    return found[::-1]


def _against_others(column: Sequence[float | None], i: int) -> float | None:
    mine = column[i]
    others = [value for j, value in enumerate(column) if j != i and value is not None]
    return None if mine is None else mine - fmean(others) if others else 0.0
