"""evolutionary: a population of the best distinct kernels, parents drawn from it, each child judged: AlphaEvolve's style.

Each place in the population is half as likely a parent as the one above it; others stand beside it as inspirations. Until
something works, the last failure is mended. Decides parents by its own seed and the expansion's number, so that a
resumed run draws the same; refuses to know what the parents have in common.
"""

import random
from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.reading import failure, is_kernel, runtime, with_distinct, works
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.trials import Trials


class Evolutionary(Trials):
    """See the module."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._population: list[Attempt] = []
        """The best first."""
        self._last: Attempt | None = None

    def _next(self, number: int) -> Expansion:
        if self._population:
            return self._breed(number)
        if self._last is None:
            return Expansion(number=number, intent="seed")
        hint = f"Nothing works yet: {failure(self._last)}"
        return Expansion(number=number, intent="repair", parents=(self._last.number,), hint=hint)

    def _breed(self, number: int) -> Expansion:
        draw = random.Random(f"{self._config.seed} {number}")
        people = self._population
        parent = draw.choices(people, weights=[0.5**place for place in range(len(people))])[0]
        others = [a for a in people if a is not parent]
        beside = draw.sample(others, min(self._config.inspirations, len(others)))
        inspirations = sorted(beside, key=people.index)
        place = f"This kernel is number {people.index(parent) + 1} of {len(people)}: {runtime(parent)}."
        hint = f"{self._fate()} {place} Best so far: {runtime(people[0])}. Evolve it."
        parents = (parent.number, *(a.number for a in inspirations))
        return Expansion(number=number, intent="improve", parents=parents, hint=hint.strip(), look_up=True)

    def _fate(self) -> str:
        """What became of the last child, if it failed: its parents' feedback cannot say."""
        return f"The last child failed: {failure(self._last)}." if self._last and not works(self._last) else ""

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        super()._learn(expansion, made)
        for attempt in filter(is_kernel, made):
            self._last = attempt
            if works(attempt):
                self._population = with_distinct(self._population, attempt, self._config.population)
