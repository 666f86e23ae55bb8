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
            try:
                return await asyncio.get_running_loop().run_in_executor(None, self._exchange, job)
            except asyncio.CancelledError:
                self.kill()
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
        """End the worker."""
        self.kill()

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
        raise RefereeError(f"the worker process ended before it answered (status {process.poll()})")

    def _start(self) -> None:
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
