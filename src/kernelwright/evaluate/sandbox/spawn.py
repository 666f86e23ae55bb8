"""The grader's handle on the warm parent, which forks its single-use children with their environment and user."""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.sandbox import wire
from kernelwright.evaluate.sandbox.child import DYING_S, Child, ChildGoneError, ChildSlowError, ChildUnreadyError
from kernelwright.evaluate.sandbox.jail import NOBODY, SEEN, Jail
from kernelwright.evaluate.sandbox.messages.calls import Open
from kernelwright.evaluate.sandbox.messages.entrypoints import Birth, Born, Confined, Warmed
from kernelwright.execution import job
from kernelwright.execution.folder import TempFolder

if TYPE_CHECKING:
    import socket

SAME_ALLOCATOR = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_MMAP_THRESHOLD_": str(8 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""Freed pages are kept by every child alike: otherwise a new 64 MB result costs its page faults on each call of eager,
while a candidate's results lie in memory that is there already, and a kernel of equal speed looks five times as fast.
Older C libraries refuse a threshold above 32 MB, hence no mappings at all."""

FIRST_USER = 1 << 24
"""Users above this belong to nobody on any host."""

READY_S = 60.0
TOGETHER = 2
"""Children that are born at once, each with half a gigabyte of the device: more take longer than the next compilation."""


class Warm:
    """The warm parent process. Use as a context manager."""

    def __init__(self, modules: Sequence[str] = (), environment: dict[str, str] | None = None) -> None:
        self._modules = modules
        self._environment = environment or {}
        self._folder = TempFolder()
        self._base = self._folder.path
        self._process: subprocess.Popen[bytes] | None = None
        self._beginning: socket.socket | None = None
        self._socket: socket.socket | None = None
        self._turn = threading.Lock()

    def begin(self) -> None:
        """Start the interpreter; `start` waits until it is ready."""
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
        self._beginning = ours

    def start(self) -> None:
        """Import everything; returns when it is ready.

        Raises:
            MachineError: the interpreter could not start or import torch.
        """
        if self._beginning is None:
            self.begin()
        ours, self._beginning = self._beginning, None
        assert ours is not None
        assert self._process is not None
        self._socket = ours
        ours.settimeout(120)
        try:
            wire.receive(ours, Warmed)
        except (EOFError, OSError, ValueError) as error:
            self._process.kill()
            _, log = self._process.communicate()
            self._process = None
            self.close()
            raise MachineError(
                f"the warm interpreter did not start ({error!r}): {log.decode(errors='replace')[-600:]}. "
                "Check that `python -c 'import torch, numpy'` works."
            ) from None

    def spawn(self, side: str, jail: Jail) -> Child:
        """Fork one confined child of the named kind; it ends with the current job, unless the job keeps it.

        Raises:
            RefereeError: the warm parent is gone.
            JobCancelledError: nobody waits for the current job any more.
        """
        with self._turn:
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
        try:
            with self._turn:
                wire.send(self._socket, Birth(side=side, jail=placed), [theirs.fileno(), appended, keeper.fileno()])
            status.settimeout(30)
            born = wire.receive(status, Born)
            control.settimeout(30)
            confined = wire.receive(control, Confined)
        except (EOFError, OSError, ValueError) as error:
            said = os.pread(log, 2000, 0).decode(errors="replace")
            control.close()
            status.close()
            os.close(log)
            raise RefereeError(f"the warm parent is gone, or a child could not be confined: {error!r} {said}") from None
        finally:
            theirs.close()
            keeper.close()
            os.close(appended)
        return at_work(Child(side, control, status, log, directory, born.pid, born.group, confined.denied, born.alone))

    def close(self) -> None:
        """End the warm parent and with it every child."""
        for end in (self._beginning, self._socket):
            if end is not None:
                end.close()
        if self._process is not None:
            # It ends and reaps its own children first. One that has not begun to listen cannot hear.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=DYING_S if self._socket is not None else 0)
            self._process.kill()
            self._process.communicate()
        self._folder.remove()

    def __enter__(self) -> "Warm":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cleared(self) -> dict[str, str]:
        """No key, token or setting of the user's reaches untrusted code."""
        kept = {k: os.environ[k] for k in ("PYTHONPATH", "LD_LIBRARY_PATH", "LANG", *SEEN) if k in os.environ}
        return {
            "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._base),
            "TMPDIR": str(self._base),
            # numpy's BLAS would start threads at import, and the warm parent must stay single-threaded.
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Some versions of torch ask for the user's name as torch._dynamo is imported, and not every user has one.
            "LOGNAME": "kernelwright",
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


def at_work(child: Child) -> Child:
    """The child, which ends with the current job from now on, unless the job keeps it.

    Raises:
        JobCancelledError: nobody waits for the current job any more; the child has been closed.
    """
    try:
        job.started(child)
    except job.JobCancelledError:
        child.close()
        raise
    return child


class PrewarmedPool:
    """The prewarmed pool: children of one kind, confined and with a CUDA context before there is a candidate for them.

    Each is used once. A few are started together, when the last one has served, so that they start while the next
    candidate is compiled. Those that have served end while other work goes on.
    """

    def __init__(self, warm: Warm, side: str, jail: Jail) -> None:
        self._warm, self._side, self._jail = warm, side, jail
        self._pool = ThreadPoolExecutor(TOGETHER, thread_name_prefix=f"spare-{side}")
        self._waiting: deque[Future[Child]] = deque()
        self._leaving: list[Future[None]] = []

    def take(self) -> Child:
        """A child that is ready, at work for the current job.

        Raises:
            ChildUnreadyError: none could be made ready.
            RefereeError: none could be started.
            JobCancelledError: nobody waits for the current job any more.
        """
        while self._waiting:
            begun = self._waiting.popleft()
            # What failed ahead, such as on a full device, may succeed now.
            if begun.exception() is None:
                return at_work(begun.result())
        self._begin()
        return at_work(self._waiting.popleft().result())

    def retire(self, child: Child) -> None:
        """End a child that has served, and begin others if it was the last; the next clock waits for both."""
        self._leaving.append(self._pool.submit(child.close))
        if not self._waiting:
            self._begin()

    def settle(self) -> None:
        """Wait until nobody is being born or dying: either would disturb the clock."""
        for begun in self._waiting:
            begun.exception()
        for leaving in self._leaving:
            leaving.exception()
        self._leaving.clear()

    def close(self) -> None:
        """End the children that wait."""
        self.settle()
        for begun in self._waiting:
            if begun.exception() is None:
                begun.result().close()
        self._waiting.clear()
        self._pool.shutdown()

    def _begin(self) -> None:
        self._waiting.extend(self._pool.submit(self._born) for _ in range(TOGETHER))

    def _born(self) -> Child:
        child = self._warm.spawn(self._side, self._jail)
        try:
            raised = child.ask(Open(), READY_S, freeze=False).answer.raised
            if raised is not None:
                raise ChildUnreadyError(raised.error, raised.log)
        except (ChildGoneError, ChildSlowError) as error:
            child.close()
            raise ChildUnreadyError(type(error).__name__, str(error)) from None
        except BaseException:
            child.close()
            raise
        return child
