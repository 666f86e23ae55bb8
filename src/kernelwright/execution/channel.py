"""Frames between an executor and its worker: a kind, a job's number, a length, bytes. Knows nothing of what they mean.

`J` a job, `R` its result, `N` a note on its way (progress for people), `C` a job that nobody waits for any more. Many
jobs share a channel, so every frame names its own.
"""

import asyncio
import socket
import struct
import threading
from typing import Literal, NamedTuple

Kind = Literal[b"J", b"R", b"N", b"C"]
HEADER = struct.Struct("!cQQ")


class Frame(NamedTuple):
    """One message about one job."""

    kind: bytes
    job: int
    payload: bytes


def pack(kind: Kind, job: int, payload: bytes = b"") -> bytes:
    """A frame as it travels."""
    return HEADER.pack(kind, job, len(payload)) + payload


async def receive(reader: asyncio.StreamReader) -> Frame | None:
    """The next frame, for an executor; None when the other end is gone, be it in the middle of one."""
    try:
        kind, job, length = HEADER.unpack(await reader.readexactly(HEADER.size))
        return Frame(kind, job, await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


class Channel:
    """A worker's end: one thread reads, any thread writes."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._writing = threading.Lock()

    def write(self, kind: Kind, job: int, payload: bytes = b"") -> None:
        """Send one frame, whole.

        Raises:
            OSError: the other end is gone.
        """
        with self._writing:
            self._end.sendall(pack(kind, job, payload))

    def read(self) -> Frame | None:
        """The next frame; None when the other end is gone."""
        header = self._exactly(HEADER.size)
        if header is None:
            return None
        kind, job, length = HEADER.unpack(header)
        payload = self._exactly(length)
        return None if payload is None else Frame(kind, job, payload)

    def hang_up(self) -> None:
        """Nothing more is said, and a thread that reads is woken."""
        self._end.shutdown(socket.SHUT_RDWR)

    def _exactly(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            part = self._end.recv(min(count - len(parts), 1 << 20))
            if not part:
                return None
            parts += part
        return bytes(parts)
