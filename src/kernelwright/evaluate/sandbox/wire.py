"""Packets between the grader, the warm parent and its children: one JSON object each, over a SOCK_SEQPACKET pair.

A packet is whole or absent, and may bring descriptors. What it may say stands in `sandbox.messages`.
"""

import socket
import threading
from array import array
from collections.abc import Sequence
from typing import TypeVar

from kernelwright.records.base import Record

LIMIT = 1 << 20
"""Largest packet in bytes."""
M = TypeVar("M", bound=Record)
_kept = threading.local()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends, with buffers that hold the largest packet."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LIMIT)
    return ends


def send(end: socket.socket, message: Record, descriptors: Sequence[int] = ()) -> None:
    """Send one message."""
    data = message.model_dump_json().encode()
    if descriptors:
        socket.send_fds(end, [data], list(descriptors))
    else:
        end.send(data)


def packet(end: socket.socket, descriptors: int = 0) -> tuple[bytes, list[int]]:
    """Wait for one packet and up to `descriptors` file descriptors.

    Raises:
        EOFError: the other end is gone.
        TimeoutError: the socket's time-out passed.
    """
    room, received = _room(), array("i")
    if descriptors:
        size, beside, _, _ = end.recvmsg_into([room], socket.CMSG_SPACE(descriptors * received.itemsize))
        for level, kind, data in beside:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
    else:
        size = end.recv_into(room)
    if not size:
        raise EOFError
    return bytes(room[:size]), received.tolist()


def _room() -> memoryview:
    """This thread's room for a packet: to make it anew each time would take longer than all the rest."""
    if not hasattr(_kept, "room"):
        _kept.room = memoryview(bytearray(LIMIT))
    room: memoryview = _kept.room
    return room


def receive(end: socket.socket, kind: type[M]) -> M:
    """Wait for one message of a kind.

    Raises:
        EOFError, TimeoutError: as `packet`.
        ValueError: it is another one.
    """
    return kind.model_validate_json(packet(end)[0])
