"""Calls handed over one by one within one stretch of the clock: lean packets over the child's control socket.

A packet is signed 64-bit numbers. To the child: the offsets of a call's inputs, then where its results belong if the
grader decides that. Back: where the results lie, of a side that decides itself. A call is told when the one before is said
to be done, and at that moment some elements of its result are looked at, at places that are not foretold; at the end they
must still be the same. A child that says so too early, to hear of the next calls and compute several at once, is found out.
"""

import ctypes
import secrets
import socket
import struct
from collections.abc import Sequence

from kernelwright.evaluate.sandbox import kernel

LIMIT = 1 << 16
"""Largest packet in bytes."""
LOOKS = 16
"""Places of a result that are looked at when it is said to be done, of the width of one element."""


def packed(numbers: Sequence[int]) -> bytes:
    """The numbers as a packet, which is never empty: that would be the end."""
    return struct.pack(f"<{len(numbers) + 1}q", len(numbers), *numbers)


def unpacked(packet: bytes) -> tuple[int, ...]:
    """The numbers of a packet.

    Raises:
        ValueError: it is none.
    """
    if len(packet) < 8 or len(packet) % 8:
        raise ValueError(f"{len(packet)} bytes are no packet of numbers")
    count, *numbers = struct.unpack(f"<{len(packet) // 8}q", packet)
    if count != len(numbers):
        raise ValueError(f"a packet of {len(numbers)} numbers claims {count}")
    return tuple(numbers)


class Handover:
    """The grader's half: hands over, and looks."""

    def __init__(self, pid: int, calls: Sequence[Sequence[int]]) -> None:
        self._pid, self._packets = pid, [packed(c) for c in calls]
        self.done = 0
        """Calls that are said to be done."""

    @property
    def count(self) -> int:
        """Calls in all."""
        return len(self._packets)

    def hand_over(self, control: socket.socket) -> bytes | None:
        """All calls, one after the other; an answer that comes before the last one ends it, and is given back.

        Raises:
            EOFError, TimeoutError: as `wire.packet`.
            ValueError: it answered with something else than numbers.
        """
        for packet in self._packets:
            control.send(packet)
            heard = control.recv(LIMIT)
            if not heard:
                raise EOFError
            if heard[:1] == b"{":
                return heard
            self.look(unpacked(heard))
            self.done += 1
        return None

    def look(self, told: tuple[int, ...]) -> None:
        """A call is said to be done: see that it is. Of a side that is trusted, nothing is remembered."""
        for address in told:
            look_at(self._pid, [address] * LOOKS, 1)


class WatchedHandover(Handover):
    """Turns whose results lie where the grader says: `places` of each call are address, elements and bytes of one."""

    def __init__(
        self, pid: int, calls: Sequence[Sequence[int]], places: Sequence[Sequence[tuple[int, int, int]]]
    ) -> None:
        super().__init__(pid, calls)
        self._places = [[_somewhere(*place) for place in call if place[1]] for call in places]
        self._seen: list[list[bytes] | None] = []

    def look(self, told: tuple[int, ...]) -> None:
        """Remember what lies at the secret places. Memory that is not there is no fault of the answer: `changed` tells."""
        try:
            self._seen.append(self._looked(self.done))
        except ValueError:
            self._seen.append(None)

    def changed(self) -> int:
        """Calls, of those said to be done, whose result was not what it is now, or not there.

        Raises:
            ValueError: there is still no such memory.
        """
        return sum(self._looked(call) != seen for call, seen in enumerate(self._seen))

    def _looked(self, call: int) -> list[bytes]:
        return [look_at(self._pid, addresses, item) for addresses, item in self._places[call]]


class ToldHandover(WatchedHandover):
    """Turns of a side that chooses where its results lie: `sizes` has elements of each, and bytes of one."""

    def __init__(self, pid: int, calls: Sequence[Sequence[int]], sizes: Sequence[tuple[int, int]]) -> None:
        super().__init__(pid, calls, [[] for _ in calls])
        # Drawn beforehand: what is drawn between two calls is time that no trusted side loses.
        self._drawn = [[_somewhere(0, *size) for size in sizes] for _ in calls]

    def look(self, told: tuple[int, ...]) -> None:
        """As `WatchedHandover.look`, where it says that the results lie.

        Raises:
            ValueError: it tells of another number of results.
        """
        pairs = zip(told, self._drawn[self.done], strict=True)
        self._places[self.done] = [([address + at for at in places], item) for address, (places, item) in pairs]
        super().look(told)


def look_at(pid: int, addresses: Sequence[int], length: int) -> bytes:
    """So many bytes at each address of a process.

    Raises:
        ValueError: there is no such memory.
    """
    memory = ctypes.create_string_buffer(len(addresses) * length)
    try:
        kernel.read_pieces(pid, addresses, ctypes.addressof(memory), length)
    except (OSError, OverflowError) as error:
        raise ValueError(f"no result of {len(addresses) * length} bytes around {addresses[0]:#x}: {error}") from None
    return memory.raw


def _somewhere(address: int, count: int, item: int) -> tuple[list[int], int]:
    return [address + secrets.randbelow(count) * item for _ in range(LOOKS)], item
