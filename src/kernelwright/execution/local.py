"""Jobs on this machine: one worker process, one job at a time, restarted when it dies or a job is given up.

A job is bytes and so is its result. Refuses to know what either means.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence

from kernelwright.errors import RefereeError
from kernelwright.execution import channel

Note = Callable[[str], None]
DYING_S = 2.0
"""How long a worker that hung up may take to end by itself."""


class LocalExecutor:
    """Owns the worker process. Jobs queue; a cancelled job takes its worker with it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], on_note: Note | None = None) -> None:
        self._command, self._environment = list(command), dict(environment)
        self._on_note = on_note or (lambda note: None)
        self._process: subprocess.Popen[bytes] | None = None
        self._end: socket.socket | None = None
        self._turn = asyncio.Lock()

    async def submit(self, job: bytes) -> bytes:
        """The job's result.

        Raises:
            RefereeError: the worker died; the message holds the end of what it printed.
        """
        async with self._turn:
            exchange = asyncio.get_running_loop().run_in_executor(None, self._exchange, job)
            try:
                return await asyncio.shield(exchange)
            except asyncio.CancelledError:
                # The thread may be starting the worker just now: it has to end before another job may begin.
                while not exchange.done():
                    self.kill()
                    await asyncio.wait({exchange}, timeout=0.05)
                exchange.exception()
                raise

    def kill(self) -> None:
        """End the worker and all it started; the next job starts another."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._end is not None:
            # Shutting down wakes a thread that is still reading; closing alone would not.
            with contextlib.suppress(OSError):
                self._end.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """End the worker, and with it the job that it is at."""
        self.kill()
        async with self._turn:
            self.kill()
            self._hang_up()

    def _hang_up(self) -> None:
        if self._end is not None:
            self._end.close()
            self._end = None

    def _exchange(self, job: bytes) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self._start()
        end, process = self._end, self._process
        assert end is not None and process is not None
        try:
            channel.write(end, b"J", job)
            while (frame := channel.read(end)) is not None:
                kind, payload = frame
                if kind == b"R":
                    return payload
                self._on_note(payload.decode(errors="replace"))
        except OSError:
            pass  # the same end as a closed socket: the worker is gone, and said below
        # Its end of the socket closes a moment before it can be waited for; the next job must not meet it any more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=DYING_S)
        self.kill()
        raise RefereeError(f"the worker process ended before it answered (status {process.returncode})")

    def _start(self) -> None:
        self._hang_up()
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [*self._command, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._end = ours
