"""What all backends on one device hold in common: the warm parent of its processes, the lock on it, its versions."""

import contextlib
import hashlib
import os
import platform
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import TracebackType

import torch

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.python_extension.precompiled import precompile
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import NOBODY, Jail
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.execution import job
from kernelwright.execution.turns import How, Turns, place_of
from kernelwright.pages import cache_folder
from kernelwright.records.run import Device
from kernelwright.version import __version__

LOOK_S = 0.1
"""How often a job that waits looks whether anybody still waits for it."""
PACKAGES = ("triton", "numpy")
ABSENT = "absent"
"""What stands for a version that nobody tells; it is never an error."""
_BLOCK = bytes(1 << 20)


class DeviceLock:
    """A lock as a context manager: who holds it is alone with the device, and a thread may take it again while it has it.

    With a folder, workers that name the same one take turns too (`turns.py`). A turn that is shared goes on beside other
    shared ones; who holds one may ask to be alone within it. A process that dies has let go of it.
    """

    def __init__(self, place: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._held: list[How | None] = []
        """How the thread that has the turn holds it, from its first entry to its latest."""
        self._turns = Turns(place) if place else None

    def __enter__(self) -> None:
        """Wait until this worker is alone.

        Raises:
            JobCancelledError: nobody waits for the current job any more.
        """
        self._enter("alone")

    @contextmanager
    def shared(self) -> Iterator[None]:
        """A turn for what takes no time and would be heard by a clock; other workers' shared turns go on beside it.

        Raises:
            JobCancelledError: as above.
        """
        self._enter("shared")
        try:
            yield
        finally:
            self._leave()

    def _enter(self, how: How) -> None:
        while not self._lock.acquire(timeout=LOOK_S):
            job.must_go_on()
        before = self._how
        # Who is alone stays so, whatever is asked for within it.
        self._held.append("alone" if before == "alone" else how)
        try:
            self._take(before)
            job.must_go_on()
        except BaseException:
            self._leave()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within a turn: other workers may have the device meanwhile, and this one's other threads wait all the same."""
        before = self._how
        self._held.append(None)
        self._take(before)
        try:
            yield
        finally:
            self._held.pop()
            self._take(None)

    @property
    def _how(self) -> How | None:
        return self._held[-1] if self._held else None

    def _leave(self) -> None:
        before = self._held.pop()
        try:
            self._take(before)
        finally:
            self._lock.release()

    def _take(self, before: How | None) -> None:
        if self._turns is not None and self._how != before:
            self._turns.take(self._how)


@dataclass
class Host:
    """A device with the warm parent of the processes that work for it."""

    warm: Warm
    device: Device
    unit: str = ""
    """Which of several devices of one kind it is; each has a lock of its own."""
    timed: bool = True
    """Whether anything is timed here; else other processes' turns do not matter."""
    device_lock: DeviceLock = field(init=False)
    """Held by whoever uses the device: nothing else may run beside a clock."""
    in_use: object = None
    """The session that a candidate is before: the one that gives way to nobody."""

    def __post_init__(self) -> None:
        name = ".".join(filter(None, (self.device.kind, self.unit)))
        self.device_lock = DeviceLock(place_of(name) if self.timed else None)

    def close(self) -> None:
        """End the warm parent and with it every child."""
        self.warm.close()


def headers() -> Path:
    """Torch's headers, precompiled for candidates that build extensions: once for a machine, most of a minute.

    Raises:
        MachineError: the compiler is missing or fails, or the disk is full.
    """
    return precompile(cache_folder() / "headers")


def hash_block() -> None:
    """Work for one core that does not hold the interpreter's lock."""
    hashlib.sha256(_BLOCK).digest()


def common_versions() -> dict[str, str]:
    """By name."""
    found = {"python": platform.python_version(), "kernelwright": __version__, "torch": torch.__version__}
    found |= {package: _package(package) for package in PACKAGES}
    line = subprocess.run([cpp.compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    found["c++"] = line.splitlines()[0] if line else "unknown"
    found["kernel"] = platform.release()
    return found


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT


FAILURES = (
    ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KernelwrightError, OSError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Whatever a profiled process, or our reading of it, can come to."""
WHOLE = 1 << 40
"""Bytes that no cache holds."""


def read_gbps(ceiling_gbps: Callable[[int], float], notes: list[str]) -> float | None:
    """The device's read bandwidth in 10^9 bytes a second; None where it cannot be measured, with a note."""
    try:
        return ceiling_gbps(WHOLE)
    except FAILURES as failure:
        notes.append(f"the read bandwidth could not be measured: {told(failure)}")
        return None


def told(failure: BaseException) -> str:
    """A failure in words that fit a note."""
    if isinstance(failure, ChildSlowError):
        return "it did not end in time"
    log = str(getattr(failure, "log", "")).strip().splitlines()
    words = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
    return f"{words} {log[-1] if log else ''}".strip()[:400]


LIMIT_S = 180.0
"""Longest that one question to a reference may take while its task is admitted."""


def reference_jail(memory_bytes: int) -> Jail:
    """A reference may start a compiler and keep what torch.compile built; otherwise it is confined as a candidate."""
    cache = cache_directory()
    if os.getuid() == 0:
        # A run on a host that denied another user may have left files of root's there.
        for directory, _, files in os.walk(cache):
            for path in (Path(directory), *(Path(directory, name) for name in files)):
                _hand_over(path)
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Its own probing of instruction sets takes ten seconds and finds what the compiler's -march=native knows.
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "USER": "kernelwright",
    }
    return Jail(
        directory="/",
        writable=(str(cache),),
        may_execute=True,
        memory_bytes=memory_bytes,
        tmpfs_bytes=1 << 30,
        environment=environment,
    )


def _hand_over(path: Path) -> None:
    """Give what is root's to nobody. Another referee's compiler may have renamed it meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_uid == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def cache_directory() -> Path:
    """Where compiled baselines are kept between runs; only references' processes write there."""
    base = cache_folder() / "inductor"
    base.mkdir(parents=True, exist_ok=True)
    return base
