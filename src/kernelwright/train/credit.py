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


def by_prefix(replies: Sequence[Sequence[int]], returns: Sequence[float | None]) -> list[list[float]]:
    """For each token of a group's replies, by how much it changes what is expected: float by reply and token.

    What replies that begin alike have earned on average is the value of that beginning; a token earns the value behind it less
    the value before it (TEMPO, arXiv 2509.18314). So it earns something where replies part, and nothing where they go on
    alike, or one goes on alone. A reply of which nothing is known earns nothing and counts for nobody.
    """
    found = [[0.0] * len(reply) for reply in replies]
    alike = [[i for i, value in enumerate(returns) if value is not None]]
    place = [0]
    while alike:
        group, at = alike.pop(), place.pop()
        parted = _parted(replies, group, at)
        before = fmean(returns[i] or 0.0 for i in group) if group else 0.0
        for branch in parted if len(parted) > 1 else ():
            for i in branch:
                found[i][at] = fmean(returns[j] or 0.0 for j in branch) - before
        for branch in parted if len(group) > 1 else ():
            alike.append(branch)
            place.append(at + 1)
    return found


def _parted(replies: Sequence[Sequence[int]], group: Sequence[int], at: int) -> list[list[int]]:
    """Those of a group that go on, by their token at this place."""
    branches: dict[int, list[int]] = {}
    for i in group:
        if at < len(replies[i]):
            branches.setdefault(replies[i][at], []).append(i)
    return list(branches.values())


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
