"""The desk: a worker's side of the channel. Each job runs in a thread of its own; answers go out as they are ready.

It limits how many jobs run at once, assigns notes to their job, and ends cancelled jobs.
"""

import contextlib
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Literal

from kernelwright.execution.channel import Channel, Frame
from kernelwright.execution.executor import IN_FLIGHT
from kernelwright.execution.job import Job, JobCancelledError

ENDING_S = 2.0
"""How long jobs may take to notice that nobody waits for them, once the executor is gone."""


class Desk:
    """Takes jobs from a channel and answers each of them once.

    The threads live as long as the desk: a process that is bound to the thread that started it survives its job.
    """

    def __init__(self, channel: Channel, answer: Callable[[bytes], bytes]) -> None:
        self._channel, self._answer = channel, answer
        self._pool = ThreadPoolExecutor(IN_FLIGHT, "job")
        self._at: dict[int, tuple[Job, Future[None]]] = {}

    def serve(self) -> None:
        """Answer jobs until the executor is gone; those that are left are then cancelled."""
        try:
            while (frame := self._channel.read()) is not None:
                self._take(frame)
        finally:
            left = list(self._at.values())
            for job, _ in left:
                job.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)
            wait([running for _, running in left], timeout=ENDING_S)

    def _take(self, frame: Frame) -> None:
        if frame.kind == b"J":
            job = Job(frame.job, lambda text: self._say(b"N", frame.job, text.encode()))
            self._at = {number: at for number, at in self._at.items() if not at[1].done()}
            self._at[frame.job] = job, self._pool.submit(self._do, job, frame.payload)
        elif frame.kind == b"C" and frame.job in self._at:
            job, running = self._at[frame.job]
            job.cancel()
            if running.cancel():  # it has not begun
                self._say(b"R", frame.job, b"")

    def _do(self, job: Job, payload: bytes) -> None:
        with job.current():
            try:
                job.must_go_on()
                answer = self._answer(payload)
            except JobCancelledError:
                answer = b""
            except BaseException:
                # Without its answer the executor would wait for ever; it knows what to do about a worker that ends.
                sys.stderr.write(traceback.format_exc())
                self._channel.hang_up()
                raise
        self._say(b"R", job.number, answer)

    def _say(self, kind: Literal[b"R", b"N"], number: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):  # the executor is gone, and `serve` sees to that
            self._channel.write(kind, number, payload)
