"""Who finds the way through the graph: Monte Carlo graph search, a model, chance, or enumeration.

All of them walk the same states and ask for the same steps; they differ in which step is taken next, and in whether what
was learned is passed back.
"""

import math
import random
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from kernelwright.search.strategy import StrategyConfig
from kernelwright.search.technique_walk import Action, State

UNKNOWN = 1e9
"""More than any step is worth that was taken."""
Prior = Callable[[Action, State], float | None]


class WalkConfig(StrategyConfig, ABC):
    """The options that navigators read."""

    epsilon: float = Field(default=0.2, ge=0, le=1)
    """How often a rollout takes any step."""
    penalty: float = Field(default=0.1, ge=0)
    """What each earlier visit costs a step in a rollout, as a share of the scaled reward."""
    exploration: float = Field(default=math.sqrt(2.0), ge=0)
    """What the exploration term is multiplied by."""
    steps: int = Field(default=8, ge=1)
    """Longest path from the start."""
    losing: Literal["ends", "goes on"] = "ends"
    """What becomes of a rollout whose step made the kernel slower: each step costs an evaluation."""
    scale: Literal["log", "raw"] = "log"
    """How rewards are brought beside the exploration term."""


class Rollout:
    """One way from the start: the steps taken, and the best on it."""

    def __init__(self, root: State, follows_best: bool = False) -> None:
        self.at = root
        self.path: list[tuple[State, Action]] = []
        self.value = -math.inf
        self.best_speedup = root.speedup
        self.judged = False
        """Something new was judged on it."""
        self.beyond = False
        """Past what was known when it began: steps are now taken by the rollout's rule, not by UCB."""
        self.repairs = 0
        """How often its last step was repaired."""
        self.follows_best = follows_best
        """It follows the way that led earlier runs to their best, as long as there is one."""

    def take(self, action: Action) -> None:
        """Go one step; nobody knows yet where it leads."""
        self.path.append((self.at, action))
        action.virtual += 1

    def arrive(self, state: State) -> None:
        """The step has led to a state that is right."""
        self.beyond = self.beyond or state.visits == 0
        self.repairs = 0
        self.at, self.value = state, max(self.value, state.reward)
        self.best_speedup = max(self.best_speedup, state.speedup)

    def fail(self, reward: float) -> None:
        """The step has led nowhere."""
        self.value = max(self.value, reward)


class Navigator:
    """The base: what is passed back, and how a reward is scaled."""

    def __init__(self, settings: WalkConfig, draw: random.Random) -> None:
        self._settings, self._draw = settings, draw
        self.rewards: list[float] = []
        """The least and the largest value that was passed back."""

    def choose(self, rollout: Rollout, prior: Prior) -> Action | None:
        """The next step; None: there is none to take."""
        raise NotImplementedError

    def offer(self, _rollout: Rollout) -> list[Action]:
        """Steps that somebody else shall choose from; none: the chosen one stands."""
        return []

    def correct(self, rollout: Rollout, _technique: str) -> Action:
        """The step that was taken in the end."""
        return rollout.path[-1][1]

    def goes_on(self, _rollout: Rollout) -> bool:
        """Whether a rollout takes another step from where it has just arrived."""
        return True

    def back_propagate(self, rollout: Rollout) -> None:
        """Pass the value of a rollout that is over back to every step that led there."""
        for state, action in rollout.path:
            state.visits += 1
            action.virtual -= 1
            action.visits += 1
            action.total += rollout.value
        rollout.at.visits += 1
        if rollout.path:
            seen = (*self.rewards, rollout.value)
            self.rewards = [min(seen), max(seen)]

    def scale(self, reward: float) -> float:
        """A reward between 0 and 1, or as it is."""
        if self._settings.scale == "raw" or not self.rewards:
            return reward
        low, high = map(_log, self.rewards)
        return min(1.0, max(0.0, (_log(reward) - low) / (high - low))) if high > low else 0.5


def _log(reward: float) -> float:
    """Logarithmic above one and linear below, without a kink."""
    return 1.0 + math.log2(reward) if reward > 1.0 else reward


class Mcgs(Navigator):
    """Selection by UCB among what is known, then a rollout."""

    def choose(self, rollout: Rollout, prior: Prior) -> Action | None:
        """UCB down to the first state that was not visited; from there epsilon-greedy with a penalty for visits."""
        state = rollout.at
        ways = [action for action in state.actions if action.open]
        if not ways:
            return None
        return self._roll(state, ways, prior) if rollout.beyond else self._select(state, ways, prior)

    def goes_on(self, rollout: Rollout) -> bool:
        """Not from a kernel that is slower than the one before it: what the evaluations are for lies elsewhere."""
        return self._settings.losing == "goes on" or rollout.at.speedup >= rollout.path[-1][0].speedup

    def _select(self, state: State, ways: Sequence[Action], prior: Prior) -> Action:
        """Argmax Q + c sqrt(ln N(state) / N(step)); a step that nobody knows comes first, and among those one that fits.

        What earlier runs promise counts as one visit. A rollout in flight counts as a visit that brought nothing.
        """

        def ucb(action: Action) -> float:
            known, visits = self._total(action, prior(action, state))
            visits += action.virtual
            if action.owed and not action.virtual and action.visits == action.failures:
                return math.inf
            if not visits:
                return UNKNOWN
            spread = self._settings.exploration * math.sqrt(math.log(max(state.visits, 1)) / visits)
            return known / visits + spread

        return self._largest(ways, ucb)

    def _roll(self, state: State, ways: Sequence[Action], prior: Prior) -> Action:
        if self._draw.random() < self._settings.epsilon:
            return self._draw.choice(list(ways))

        def worth(action: Action) -> float:
            known, visits = self._total(action, prior(action, state))
            return (known / visits if visits else 0.5) - self._settings.penalty * (action.visits + action.virtual)

        return self._largest(ways, worth)

    def _total(self, action: Action, prior: float | None) -> tuple[float, int]:
        """The sum of a step's scaled rewards, and of how many; what earlier runs promise is one of them."""
        known = action.visits * self.scale(action.total / action.visits) if action.visits else 0.0
        return (known, action.visits) if prior is None else (known + self.scale(prior), action.visits + 1)

    def _largest(self, ways: Sequence[Action], worth: Callable[[Action], float]) -> Action:
        """One of the best, drawn: the order in the graph's file must not decide."""
        scores = [worth(action) for action in ways]
        best = max(scores)
        return self._draw.choice([a for a, score in zip(ways, scores, strict=True) if score == best])


class RandomWalk(Navigator):
    """Any step, as long as there is one; nothing is learned on the way."""

    def choose(self, rollout: Rollout, _prior: Prior) -> Action | None:
        """See `Navigator.choose`."""
        ways = [action for action in rollout.at.actions if action.open]
        return self._draw.choice(ways) if ways else None


class Enumeration(Navigator):
    """Every path, the shortest first: ReGraphT without its search, which takes O(n^k) steps."""

    def choose(self, rollout: Rollout, _prior: Prior) -> Action | None:
        """The first step that nobody has taken, else down to where there is one."""
        if rollout.judged:
            return None
        ways = [action for action in rollout.at.actions if action.open]
        return next((a for a in ways if a.child is None), None) or self._down(rollout, ways)

    def _down(self, rollout: Rollout, ways: Sequence[Action]) -> Action | None:
        depth = self._nearest(rollout.at, self._settings.steps - len(rollout.path), set())
        nearer = (a for a in ways if depth and a.child and self._nearest(a.child, depth - 1, set()) < depth)
        return next(nearer, None)

    def _nearest(self, state: State, most: int, seen: set[int]) -> int:
        """Steps to a state that has a step which nobody has taken, at most `most`; `most + 1` where there is none."""
        level, steps = [state], 0
        while level and steps <= most:
            if any(a.open and a.child is None for one in level for a in one.actions):
                return steps
            seen |= {id(one) for one in level}
            level = [a.child for one in level for a in one.actions if a.open and a.child and id(a.child) not in seen]
            steps += 1
        return most + 1


class Adviser(Navigator):
    """A model chooses among the steps that lead on; where there is but one, nobody is asked."""

    def choose(self, rollout: Rollout, prior: Prior) -> Action | None:
        """A stand-in for the choice: the step that earlier runs promise the most of, among those not taken yet."""
        ways = [action for action in rollout.at.actions if action.open]
        fresh = [action for action in ways if action.child is None]
        if not fresh:
            known = [action for action in ways if action.child is not None]
            return max(known, key=lambda a: a.child.reward if a.child else 0.0, default=None)
        return max(fresh, key=lambda action: prior(action, rollout.at) or 0.0)

    def offer(self, rollout: Rollout) -> list[Action]:
        """All that were not taken, the chosen one first."""
        state, action = rollout.path[-1]
        return [action, *(a for a in state.actions if a is not action and a.open and a.child is None and a.step)]

    def correct(self, rollout: Rollout, technique: str) -> Action:
        """The step that the model chose; its answer may be none of those offered, and then the stand-in counts."""
        state, action = rollout.path[-1]
        chosen = next((a for a in state.actions if technique and a.technique == technique and not a.failed), action)
        if chosen is not action:
            action.virtual -= 1
            chosen.virtual += 1
            rollout.path[-1] = (state, chosen)
        return chosen


NAVIGATORS: Mapping[str, type[Navigator]] = {
    "mcgs": Mcgs, "llm": Adviser, "random": RandomWalk, "enumerate": Enumeration,
}  # fmt: skip
