"""Profiles: where attempts' time goes, each found once however many siblings ask.

Whoever asks first pays the device's time. What failed is tried again.
"""

import asyncio
import time
from collections.abc import Sequence

from kernelwright.engine.toolbox import ToolAnswer
from kernelwright.errors import RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import Compiled, Measured, Verified
from kernelwright.records.task import Task


class Profiles:
    """Of one run's attempts, by candidate."""

    def __init__(self, task: Task, evaluator: Evaluator, attempts: Sequence[Attempt]) -> None:
        self._task, self._evaluator, self._attempts = task, evaluator, attempts
        self._asked: dict[str, asyncio.Task[str]] = {}

    async def answer(self, number: int) -> ToolAnswer:
        """The profile as JSON; empty for an attempt that was never right, or never built.

        Raises:
            RefereeError: the referee broke.
        """
        candidate = self._attempts[number].proposal.candidate.id
        if candidate in self._asked:
            return ToolAnswer(await self._asked[candidate])
        began = time.monotonic()
        asked = self._asked[candidate] = asyncio.create_task(self._profile(self._attempts[number]))
        try:
            return ToolAnswer(await asked, time.monotonic() - began)
        except (RefereeError, asyncio.CancelledError):
            del self._asked[candidate]
            raise

    async def _profile(self, attempt: Attempt) -> str:
        found = attempt.evaluation
        if not isinstance(found, Measured | Verified | Compiled):
            return ""
        profile = await self._evaluator.profile(self._task, attempt.proposal.candidate, found.build)
        return profile.model_dump_json()
