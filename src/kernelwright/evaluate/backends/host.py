"""What all backends on one device hold in common: the warm parent of its processes, the lock on it, its versions."""

import fcntl
import hashlib
import os
import platform
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import TracebackType

import torch

from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.python_extension.precompiled import precompile
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.execution import job
from kernelwright.records.run import Device
from kernelwright.version import __version__

LOOK_S = 0.1
"""How often a job that waits looks whether anybody still waits for it."""
PACKAGES = ("triton", "numpy")
ABSENT = "absent"
"""What stands for a version that nobody tells; it is never an error."""
SHARED = "KERNELWRIGHT_DEVICE_LOCK"
"""Names a file by which workers on one machine take turns on its devices; without it, each takes itself to be alone."""
_BLOCK = bytes(1 << 20)


class DeviceLock:
    """A lock as a context manager: who holds it is alone with the device, and a thread may take it again while it has it.

    With a file, workers that name the same one take turns too; a turn that is shared goes on beside other shared ones. A
    process that dies has let go of it.
    """

    def __init__(self, file: str = "") -> None:
        self._lock, self._depth, self._how = threading.RLock(), 0, fcntl.LOCK_EX
        self._file = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600) if file else None

    def __enter__(self) -> None:
        """Wait for the turn.

        Raises:
            JobCancelledError: nobody waits for the current job any more.
        """
        self._enter(fcntl.LOCK_EX)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """A turn for what takes no time and would be heard by a clock; other workers' shared turns go on beside it.

        Raises:
            JobCancelledError: as above.
        """
        self._enter(fcntl.LOCK_SH)
        try:
            yield
        finally:
            self._leave()

    def _enter(self, how: int) -> None:
        while not self._lock.acquire(timeout=LOOK_S):
            job.must_go_on()
        self._depth += 1
        try:
            if self._depth == 1:
                self._how = how
                self._flock(how)
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
        self._flock(fcntl.LOCK_UN)
        try:
            yield
        finally:
            self._flock(self._how)

    def _leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._flock(fcntl.LOCK_UN)
        self._lock.release()

    def _flock(self, how: int) -> None:
        if self._file is not None:
            fcntl.flock(self._file, how)


@dataclass
class Host:
    """A device with the warm parent of the processes that work for it."""

    warm: Warm
    device: Device
    unit: str = ""
    """Which of several devices of one kind it is; each has a lock of its own."""
    device_lock: DeviceLock = field(init=False)
    """Held by whoever uses the device: nothing else may run beside a clock."""
    in_use: object = None
    """The session that a candidate is before: the one that gives way to nobody."""

    def __post_init__(self) -> None:
        shared = os.environ.get(SHARED, "")
        self.device_lock = DeviceLock(".".join(filter(None, (shared, self.device.kind, self.unit))) if shared else "")

    def close(self) -> None:
        """End the warm parent and with it every child."""
        self.warm.close()


def headers() -> Path:
    """Torch's headers, precompiled for candidates that build extensions: once for a machine, most of a minute.

    Raises:
        MachineError: the compiler is missing or fails, or the disk is full.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return precompile(Path(base) / "kernelwright" / "headers")


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
