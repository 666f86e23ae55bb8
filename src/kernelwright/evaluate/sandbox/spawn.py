"""The grader's handle on the warm parent and on its single-use children.

Decides when a child is stopped, continued and killed; measures from outside. Refuses to know what a child computes:
a reply is bytes from a process that may lie.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.sandbox import kernel, wire
from kernelwright.evaluate.sandbox.jail import NOBODY, Jail

SAME_ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(8 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""Freed pages are kept by every contestant alike: otherwise a new 64 MB result costs its page faults on each call of
eager, and a kernel of equal speed looks five times as fast."""

FIRST_USER = 1 << 24
"""Users above this belong to nobody on any host."""
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
    """The child did not answer within its limit; it has been killed."""


class ChildMovedError(Exception):
    """The child ran while it was frozen: something inside it had it continued."""


@dataclass
class Reply:
    """An answer, with the time between the question and it, on the grader's clock."""

    message: wire.Message
    outside_ns: int
    cpu_ns: int
    """Processor time of all its threads since the question before."""


@dataclass
class Child:
    """One single-use process, frozen whenever the grader is not waiting for it."""

    control: socket.socket
    status: socket.socket
    log: int
    directory: Path
    pid: int
    group: int
    denied: tuple[str, ...]
    """Parts of its confinement that the host denied, by their names in `jail.LOST`."""
    serial: int = 0
    """Of the last question: secret until it is put, so that no answer can be prepared."""
    cpu_ns: int = 0
    """Its processor time when it was last frozen."""
    frozen: bool = False
    code: int | None = None
    """Its wait status, once it has ended."""
    ended: bool = field(default=False)

    def ask(self, message: wire.Message, limit_s: float, descriptors: Sequence[int] = (), freeze: bool = True) -> Reply:
        """Put one question to the frozen child, continue it, and freeze it the moment it answers.

        The clock runs until every thread has stopped, so that nothing is gained by answering first and working then.
        Frozen, it can neither finish work that it already called done nor hold a core while another side is timed.

        Raises:
            ChildGoneError: it ended first.
            ChildSlowError: it was killed at `limit_s`.
            ChildMovedError: it has run since it was frozen; it has been killed.
        """
        self.must_have_stood_still()
        self.frozen = False
        self.serial = secrets.randbits(48)
        self.control.settimeout(limit_s)
        try:
            wire.send(self.control, {**message, "serial": self.serial}, descriptors)
            start = time.perf_counter_ns()
            self._signal(signal.SIGCONT)
            answer, _ = wire.receive(self.control)
            if freeze:
                self._freeze()
            outside = time.perf_counter_ns() - start
        except TimeoutError:
            self.kill()
            raise ChildSlowError from None
        except (EOFError, OSError):
            raise ChildGoneError(self._obituary(), self.tail()) from None
        except ValueError as error:
            self.kill()
            raise ChildGoneError(f"sent something that is no answer: {error}", self.tail()) from None
        before, self.cpu_ns = self.cpu_ns, self._cpu_ns()
        return Reply(answer, outside, self.cpu_ns - before)

    def tail(self, limit: int = 8000) -> str:
        """The end of what it printed."""
        size = os.fstat(self.log).st_size
        data = os.pread(self.log, limit, max(0, size - limit))
        text = data.decode(errors="replace")
        return f"[{size - limit} bytes left out]\n{text}" if size > limit else text

    def kill(self) -> None:
        """End it with its whole process group and namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

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
        status = int(str(wire.receive(self.status)[0]["status"]))
        if not os.WIFSTOPPED(status):
            self.code = status
            raise EOFError
        return status

    def _obituary(self) -> str:
        self.status.settimeout(5.0)
        with contextlib.suppress(EOFError, OSError, ValueError, KeyError):
            while self.code is None:
                self._heard()
        if self.code is None:
            return "was killed together with its keeper"
        if os.WIFSIGNALED(self.code):
            return f"killed by {signal.Signals(os.WTERMSIG(self.code)).name}"
        if os.WEXITSTATUS(self.code) == kernel.ABORTED:
            return "aborted"
        return f"exited with status {os.WEXITSTATUS(self.code)} before it answered"


class Warm:
    """The warm parent process. Use as a context manager."""

    def __init__(self, modules: Sequence[str] = (), environment: dict[str, str] | None = None) -> None:
        self._modules = modules
        self._environment = environment or {}
        self._base = Path(tempfile.mkdtemp(prefix="kernelwright-"))
        # Children run as nobody and must be able to pass through.
        self._base.chmod(0o711)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def start(self) -> None:
        """Import everything; returns when it is ready.

        Raises:
            MachineError: the interpreter could not start or import torch.
        """
        ours, theirs = wire.pair()
        command = [sys.executable, "-m", "kernelwright.evaluate.sandbox.warm", str(theirs.fileno())]
        self._process = subprocess.Popen(
            [*command, *self._modules],
            pass_fds=[theirs.fileno()],
            env=self._cleared(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        self._socket = ours
        ours.settimeout(120)
        try:
            wire.receive(ours)
        except (EOFError, OSError) as error:
            self._process.kill()
            _, log = self._process.communicate()
            self._process = None
            self.close()
            raise MachineError(
                f"the warm interpreter did not start ({error!r}): {log.decode(errors='replace')[-600:]}. "
                "Check that `python -c 'import torch, numpy'` works."
            ) from None

    def spawn(self, side: str, jail: Jail) -> Child:
        """Fork one confined child of the named kind.

        Raises:
            RefereeError: the warm parent is gone.
        """
        if self._socket is None:
            self.start()
        assert self._socket is not None
        directory = Path(tempfile.mkdtemp(dir=self._base))
        user = _owner(directory, shared=bool(jail.writable))
        control, theirs = wire.pair()
        status, keeper = wire.pair()
        log = os.memfd_create("log")
        # Its own open file description in append mode: the child cannot seek over what it printed.
        appended = os.open(f"/proc/self/fd/{log}", os.O_WRONLY | os.O_APPEND)
        placed = jail.model_copy(update={"directory": str(directory), "user": user})
        order: wire.Message = {"side": side, "jail": placed.model_dump(mode="json")}
        try:
            wire.send(self._socket, order, [theirs.fileno(), appended, keeper.fileno()])
            status.settimeout(30)
            born, _ = wire.receive(status)
            control.settimeout(30)
            confined, _ = wire.receive(control)
        except (EOFError, OSError) as error:
            said = os.pread(log, 2000, 0).decode(errors="replace")
            control.close()
            status.close()
            os.close(log)
            raise RefereeError(f"the warm parent is gone, or a child could not be confined: {error!r} {said}") from None
        finally:
            theirs.close()
            keeper.close()
            os.close(appended)
        pid, group = int(str(born["pid"])), int(str(born["group"]))
        return Child(control, status, log, directory, pid, group, tuple(confined["denied"]))

    def close(self) -> None:
        """End the warm parent and with it every child."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        shutil.rmtree(self._base, ignore_errors=True)

    def __enter__(self) -> "Warm":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cleared(self) -> dict[str, str]:
        """No key, token or setting of the user's reaches foreign code."""
        kept = {k: os.environ[k] for k in ("PYTHONPATH", "LD_LIBRARY_PATH", "LANG") if k in os.environ}
        return {
            "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._base),
            "TMPDIR": str(self._base),
            # numpy's BLAS would start threads at import, and the warm parent must stay single-threaded.
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **SAME_ALLOCATOR,
            **kept,
            **self._environment,
        }


def _owner(directory: Path, shared: bool) -> int:
    """Give the directory to a user whom no other process belongs to; to nobody where it shares files, or cannot."""
    if os.getuid() != 0:
        return NOBODY
    user = NOBODY if shared else FIRST_USER + secrets.randbelow(1 << 20)
    try:
        os.chown(directory, user, user)
    except OSError:  # a container without so many users
        user = NOBODY
        os.chown(directory, user, user)
    return user
