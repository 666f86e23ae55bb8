"""One single-use process: asked, frozen, measured from outside, killed.

Its clock is ours. A reply is bytes from a process that may lie.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox import kernel, wire
from kernelwright.evaluate.sandbox.messages.base import Answer, Command, Question, R, UnreadableError, read_answer
from kernelwright.evaluate.sandbox.messages.entrypoints import ENTRYPOINTS, Status

Meanwhile = Callable[[socket.socket], bytes | None]
STOP_S, STOP_TRIES = 0.5, 10
"""Seconds that a stop may take, which is microseconds unless the machine is busy or the child works against it."""
DYING_S = 5.0
"""Longest that closing waits for a killed child: gigabytes to unmap, hundreds of processes."""


class ChildGoneError(Exception):
    """The child ended before it answered. `reason` is for people; `log` is what it printed last."""

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(reason)
        self.reason, self.log = reason, log


class ChildSlowError(Exception):
    """The child did not answer within its limit, in seconds; it has been killed."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no answer within {limit_s:g} s")
        self.limit_s = limit_s


class ChildUnreadyError(Exception):
    """A child that was started ahead could not make itself ready: there is no candidate in it that is to blame."""

    def __init__(self, name: str, log: str) -> None:
        super().__init__(f"{name}: {log[-1500:]}")
        self.name, self.log = name, log


class ChildMovedError(Exception):
    """The child ran while it was frozen: something inside it had it continued."""


def signal_name(number: int) -> str:
    """What the kernel calls a signal; real-time ones are counted from the first that the C library leaves free."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN{number - signal.SIGRTMIN:+d}"


@dataclass
class Response(Generic[R]):
    """An answer, with the time between the question and it, on the grader's clock."""

    answer: Answer[R]
    outside_ns: int
    cpu_ns: int
    """Processor time of all its threads since the question before."""


@dataclass
class Child:
    """One single-use process, frozen whenever the grader is not waiting for it."""

    side: str
    """Which of `ENTRYPOINTS` it is."""
    control: socket.socket
    status: socket.socket
    log: int
    directory: Path
    pid: int
    group: int
    denied: tuple[str, ...]
    """Parts of its confinement that the host denied, by their names in `jail.LOST`."""
    alone: bool = True
    """Whether it has a process namespace, which ends with it."""
    patience: float = 1.0
    """How many times a limit may pass while other work keeps it from running, which the limit does not count."""
    serial: int = 0
    """Of the last question: secret until it is put, so that no answer can be prepared."""
    cpu_ns: int = 0
    """Its processor time when it was last frozen."""
    frozen: bool = False
    code: int | None = None
    """Its wait status, once it has ended."""
    ended: bool = field(default=False)

    def ask(
        self, command: Command[R], limit_s: float, freeze: bool = True, meanwhile: Meanwhile | None = None
    ) -> Response[R]:
        """Put one question to the frozen child, continue it, and freeze it the moment it answers.

        `meanwhile` is told the socket as soon as the child runs, and gives back an answer that came before its time. The
        clock runs until every thread has stopped, so that nothing is gained by answering first and working then.
        Frozen, it can neither finish work that it already called done nor hold a core while another side is timed.

        Raises:
            ChildGoneError: it ended first.
            ChildSlowError: it was killed at `limit_s`.
            ChildMovedError: it has run since it was frozen; it has been killed.
            MalformedError: it answered what our own code there does not answer.
            RefereeError: no child of its kind takes this command.
        """
        if not isinstance(command, ENTRYPOINTS[self.side]):
            raise RefereeError(f"the side {self.side!r} takes no command {command.name!r}")
        self.must_have_stood_still()
        self.frozen = False
        self.serial = secrets.randbits(48)
        self.control.settimeout(limit_s)
        try:
            wire.send(self.control, Question(serial=self.serial, command=command), command.files)
            start = time.perf_counter_ns()
            self._signal(signal.SIGCONT)
            data = meanwhile(self.control) if meanwhile else None
            if data is None:
                data = self._answer(limit_s)
            if freeze:
                self._freeze()
            outside = time.perf_counter_ns() - start
        except TimeoutError:
            self.kill()
            raise ChildSlowError(limit_s) from None
        except (EOFError, OSError):
            raise ChildGoneError(self._obituary(), self.tail()) from None
        except ValueError as error:
            raise self._babbled(error) from None
        before, self.cpu_ns = self.cpu_ns, self._cpu_ns()
        try:
            return Response(read_answer(data, command), outside, self.cpu_ns - before)
        except UnreadableError as error:
            raise self._babbled(error) from None

    def _answer(self, limit_s: float) -> bytes:
        """The answer's packet; while others have the processors, the limit waits.

        Raises:
            TimeoutError: it has had its time.
        """
        began, held = time.monotonic(), kernel.waited_s(self.pid)
        while True:
            try:
                return wire.packet(self.control)[0]
            except TimeoutError:
                passed = time.monotonic() - began
                left = limit_s - (passed - (kernel.waited_s(self.pid) - held))
                if left <= 0 or passed >= self.patience * limit_s:
                    raise
                self.control.settimeout(left + kernel.PAUSE_S)

    def tail(self, limit: int = 8000) -> str:
        """The end of what it printed."""
        size = os.fstat(self.log).st_size
        data = os.pread(self.log, limit, max(0, size - limit))
        text = data.decode(errors="replace")
        return f"[{size - limit} bytes left out]\n{text}" if size > limit else text

    def kill(self) -> None:
        """End it with its whole process group and namespace, or with what it has left behind."""
        if not self.alone:
            self._end_with_strays()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _end_with_strays(self) -> None:
        """End it and have its keeper, which is gone last, end what it began."""
        self._signal(signal.SIGKILL)
        last = time.monotonic() + DYING_S
        while kernel.is_alive(self.group) and time.monotonic() < last:
            time.sleep(kernel.PAUSE_S)

    def has_strays(self) -> bool:
        """Whether there is a process besides it that it has begun, however far it has gone."""
        return any(pid != self.pid for pid in kernel.descendants(self.group))

    def close(self) -> None:
        """Kill it, wait until it is gone, and free what it held. Safe to call twice.

        What is still dying counts as its user's processes, holds memory and disturbs the clock of the next child.
        """
        if self.ended:
            return
        self.ended = True
        self.kill()
        last = time.monotonic() + DYING_S
        while not self._gone() and time.monotonic() < last:
            time.sleep(0.001)
        self.control.close()
        self.status.close()
        os.close(self.log)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _babbled(self, error: ValueError) -> ChildGoneError:
        self.kill()
        return ChildGoneError(f"sent something that is no answer: {error}", self.tail())

    def _gone(self) -> bool:
        """Whether it has ended; the first process of a namespace ends after all others in it."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        return stat.rsplit(")", 1)[1].split()[0] == "Z"

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _freeze(self) -> None:
        """Stop it, and wait for the keeper to say that its last thread has stopped."""
        self.status.settimeout(STOP_S)
        for _ in range(STOP_TRIES):
            self._signal(signal.SIGSTOP)
            with contextlib.suppress(TimeoutError):
                while not os.WIFSTOPPED(self._heard()):
                    pass
                self.frozen = True
                return
        self.kill()
        raise ChildMovedError(f"it did not stay stopped in {STOP_TRIES} tries")

    def must_have_stood_still(self) -> None:
        """Nothing may have continued it since it was frozen: a timer of its own, for instance, could.

        Raises:
            ChildMovedError: it is not stopped, or was stopped a second time; it has been killed.
        """
        if self.frozen and (self._state() in "RSDI" or self._told_more()):
            self.kill()
            raise ChildMovedError("it ran while it was frozen")

    def _state(self) -> str:
        """The kernel's letter for what it does; SIGCONT always continues all threads, so that one will do."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return "X"

    def _told_more(self) -> bool:
        self.status.settimeout(0)
        try:
            self._heard()
        except (BlockingIOError, EOFError, OSError):
            return False
        return True

    def _cpu_ns(self) -> int:
        """Processor time of the whole process, from the kernel (clock_getcpuclockid(3) of another process)."""
        try:
            return time.clock_gettime_ns(~self.pid << 3 | 2)
        except OSError:
            return self.cpu_ns

    def _heard(self) -> int:
        """The next wait status from the keeper.

        Raises:
            EOFError: it is the last one, or the keeper is gone.
        """
        status = wire.receive(self.status, Status).code
        if not os.WIFSTOPPED(status):
            self.code = status
            raise EOFError
        return status

    def _obituary(self) -> str:
        self.status.settimeout(5.0)
        with contextlib.suppress(EOFError, OSError, ValueError):
            while self.code is None:
                self._heard()
        if self.code is None:
            return "was killed together with its keeper"
        if os.WIFSIGNALED(self.code):
            return f"killed by {signal_name(os.WTERMSIG(self.code))}"
        if os.WEXITSTATUS(self.code) == kernel.ABORTED:
            return "aborted"
        return f"exited with status {os.WEXITSTATUS(self.code)} before it answered"
