"""A cache under a trainer's questions: what any trainer found of a kernel on this device is not asked again.

Opened at the first question, in the thread that asks: SQLite's connections are one thread's. Trainers side by side share what
they find, so that arms that differ in their reward alone time each kernel once.
"""

from collections.abc import Callable

from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task
from kernelwright.store.cache import EvaluationCache, confined, evaluation_key

RUN = "training"
"""What the cache tells others of where a verdict is from."""


class Remembered:
    """Verdicts by task, kernel, device, versions, policy and sandbox."""

    def __init__(
        self,
        open_cache: Callable[[], EvaluationCache | None],
        policy: Policy,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Open nothing yet; `warn` hears, once, that the cache is of no use."""
        self._open, self._policy, self._warn = open_cache, policy, warn
        self._cache: EvaluationCache | None = None
        self._opened = self._warned = False

    async def key(self, evaluator: Evaluator, task: Task, kernel: Candidate, effort: Effort) -> str | None:
        """What the verdict is kept under; None: only a search takes over what others found.

        Raises:
            RefereeError: the referee, which is asked where it runs, broke.
        """
        if effort != "search":
            return None
        environment = await evaluator.environment(task.target)
        return confined(evaluation_key(task, kernel, environment, self._policy, effort), environment)

    def find(self, key: str) -> Evaluation | None:
        """What is known."""
        cache = self._opened_cache()
        kept = cache.find(key) if cache is not None else None
        self._tell()
        return kept.evaluation.model_copy(update={"cached_from": kept.run}) if kept else None

    def keep(self, key: str, found: Evaluation) -> None:
        """Keep what was found."""
        cache = self._opened_cache()
        if cache is not None:
            cache.keep(key, RUN, found)
            self._tell()

    def close(self) -> None:
        """Close the cache, in the thread that asked."""
        if self._cache is not None:
            self._cache.close()

    def _tell(self) -> None:
        if self._cache is not None and self._cache.trouble and not self._warned:
            self._warned = True
            self._warn(self._cache.trouble)

    def _opened_cache(self) -> EvaluationCache | None:
        if not self._opened:
            self._cache, self._opened = self._open(), True
        return self._cache
