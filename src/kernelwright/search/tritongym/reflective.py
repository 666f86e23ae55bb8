"""reflective: generate, reflect on failures, improve on the ancestors: the roles of GEAK.

A failed kernel is repaired after a reflector has said what to do. After `debug_limit` failed repairs in a row that line is
left: for the ancestors, the best distinct kernels that work, or for a fresh seed where there are none. A working kernel
leads to a better strategy, sought with the ancestors in view. Decides which of these; refuses to know reflections.

The fastest ancestor stands first, since the first parent is the one that is edited; the others follow it in
ascending performance.
"""

from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.reading import failure, is_kernel, runtime, with_distinct, works
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.trials import Trials

REFLECTOR = "reflector"


class Reflective(Trials):
    """See the module."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._failed: Attempt | None = None
        self._debugged = 0
        self._ancestors: list[Attempt] = []
        """Distinct, the best first."""

    def _next(self, number: int) -> Expansion:
        if self._failed is not None:
            tries = f"Debugging attempt {self._debugged + 1} of {self._config.debug_limit}"
            return Expansion(
                number=number,
                intent="repair",
                parents=(self._failed.number,),
                hint=f"{tries}: {failure(self._failed)}",
                adviser=REFLECTOR,
            )
        if not self._ancestors:
            return Expansion(number=number, intent="seed")
        best, *others = self._ancestors
        parents = (best.number, *(a.number for a in reversed(others)))
        hint = f"Best so far: {runtime(best)}. Find a better strategy."
        return Expansion(number=number, intent="improve", parents=parents, hint=hint, look_up=True)

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        super()._learn(expansion, made)
        self._debugged += expansion.intent == "repair"
        for attempt in filter(is_kernel, made):
            self._place(attempt)
        if self._failed is None or self._debugged >= self._config.debug_limit:
            self._failed, self._debugged = None, 0

    def _place(self, attempt: Attempt) -> None:
        if not works(attempt):
            self._failed = attempt
            return
        self._failed = None
        self._ancestors = with_distinct(self._ancestors, attempt, self._config.ancestors)
