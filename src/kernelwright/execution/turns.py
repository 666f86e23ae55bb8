"""Turns of several processes of one user on one device of one machine, in the order in which they were asked for.

Whoever wants a turn lays a ticket into a folder and holds a lock on it. It is its turn once no earlier ticket is in its way:
one to be alone is in the way of all, one that is shared only of those that want to be alone. So nobody is passed by, and
workers that share a device leave it to one that wants it alone. A process that dies has let go of its ticket.
"""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.execution import job
from kernelwright.pages import state_folder

SHARED = "KERNELWRIGHT_DEVICE_LOCK"
"""Names the folder of the tickets; unset: one for each user and machine. Empty: nobody takes turns."""
LOOK_S = 0.05
"""How often one who waits looks."""
How = Literal["alone", "shared"]


class Ticket(NamedTuple):
    """Somebody's turn, or place in the queue."""

    number: int
    how: How
    pid: int
    """Of the worker."""


def place_of(device: str) -> Path | None:
    """Where tickets for a device of this machine lie; None: nobody takes turns, by wish or because nothing can be written."""
    named = os.environ.get(SHARED)
    if named == "":
        return None
    place = Path(named or _usual()) / device
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _gate(place):
            return place
    except OSError:
        # A home that is read-only, or on a file system without locks.
        return None


def _usual() -> Path:
    # A home may be shared by many machines.
    boot = Path("/proc/sys/kernel/random/boot_id")
    return state_folder() / "turns" / (boot.read_text(encoding="ascii").strip() if boot.exists() else sys.platform)


class Turns:
    """One worker's turns."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._ticket: tuple[Path, int] | None = None
        """The file, and the descriptor that holds its lock."""

    def take(self, how: How | None) -> None:
        """Have a turn of this kind, and no longer as before: another process may have had one in between; or none.

        Raises:
            JobCancelledError: nobody waits for the current job any more.
        """
        if self._ticket is not None:
            file, descriptor = self._ticket
            self._ticket = None
            file.unlink(missing_ok=True)
            os.close(descriptor)
        if how is None:
            return
        with _gate(self._place):
            number = max((each.number for each in tickets(self._place, sweep=True)), default=0) + 1
            # It gets its name when it is locked, and not before.
            draft, file = self._place / "draft", self._place / f"{number}-{how}-{os.getpid()}"
            descriptor = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._ticket = draft.rename(file), descriptor
        told = False
        while ahead := _in_the_way(self._place, number, how):
            if not told:
                job.note(f"waiting for its turn on this machine's {self._place.name}: {ahead} before it")
                told = True
            time.sleep(LOOK_S)
            job.must_go_on()


def _in_the_way(place: Path, number: int, how: How) -> int:
    ahead = [each for each in tickets(place) if each.number < number]
    return sum("alone" in (each.how, how) for each in ahead)


def tickets(place: Path, sweep: bool = False) -> list[Ticket]:
    """Those whose processes are there, the first first; whoever has the gate may remove the others."""
    found = []
    for file in place.glob("*-*-*"):
        number, how, pid = file.name.split("-")
        if _is_held(file):
            found.append(Ticket(int(number), "alone" if how == "alone" else "shared", int(pid)))
        elif sweep:
            file.unlink(missing_ok=True)
    return sorted(found)


def _is_held(file: Path) -> bool:
    with suppress(FileNotFoundError):
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


@contextmanager
def _gate(place: Path) -> Iterator[None]:
    """One at a time gets a number."""
    descriptor = os.open(place / "gate", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def queues() -> Iterator[tuple[str, list[Ticket]]]:
    """Each device of this machine on which somebody had a turn, with its queue, which may be empty."""
    places = Path(os.environ.get(SHARED) or _usual())
    for place in sorted(each for each in places.glob("*") if each.is_dir()):
        yield place.name, tickets(place)
