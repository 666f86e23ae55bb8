"""Frames between an executor and its worker: a kind, a length, bytes. Knows nothing of what they mean.

`J` a job, `R` its result, `N` a note on the way (progress for people).
"""

import socket
import struct
from typing import Literal

Kind = Literal[b"J", b"R", b"N"]
HEADER = struct.Struct("!cQ")


def write(end: socket.socket, kind: Kind, payload: bytes) -> None:
    """Send one frame."""
    end.sendall(HEADER.pack(kind, len(payload)) + payload)


def read(end: socket.socket) -> tuple[bytes, bytes] | None:
    """The next frame's kind and payload; None when the other end is gone."""
    header = _exactly(end, HEADER.size)
    if header is None:
        return None
    kind, length = HEADER.unpack(header)
    payload = _exactly(end, length)
    return None if payload is None else (kind, payload)


def _exactly(end: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = end.recv(min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
