"""The device's turn: who holds it is alone with the device, and a thread may take it again while it has it.

Decides that a job which nobody waits for any more does not go on waiting. Refuses to know what is done in a turn.
"""

import threading
from types import TracebackType

from kernelwright.execution import job

LOOK_S = 0.1
"""How often a job that waits looks whether anybody still waits for it."""


class Turn:
    """A context manager."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        """Wait for the turn.

        Raises:
            JobCancelledError: nobody waits for the current job any more.
        """
        while not self._lock.acquire(timeout=LOOK_S):
            job.must_go_on()
        try:
            job.must_go_on()
        except job.JobCancelledError:
            self._lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
