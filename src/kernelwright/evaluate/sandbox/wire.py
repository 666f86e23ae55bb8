"""Packets between the grader, the warm parent and its children: one JSON object each, over a SOCK_SEQPACKET pair.

A packet is whole or absent, and may bring descriptors. What it may say stands in `sandbox.messages`. What the grader says may
be longer than a packet, as the launch plans of a network are: it lies in a file that the packet brings.
"""

import errno
import os
import socket
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kernelwright.records.base import Record

LIMIT = 1 << 20
"""Largest packet in bytes."""
AT_ONCE = 253
"""Most descriptors that Linux lets one packet bring (SCM_MAX_FD)."""
LONG = 1 << 17
"""Bytes of a message from which on it lies in a file: a socket may hold no more than some 200 kB, whatever it is asked."""
LONGEST = 1 << 26
"""Bytes of such a message at most."""
ELSEWHERE = b"*"
"""A packet whose message lies in the last file that it brings."""
MORE = b"+"
"""A packet that only brings descriptors, ahead of the message that they belong to."""
M = TypeVar("M", bound=Record)
_kept = threading.local()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends, with buffers that hold the largest packet."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LIMIT)
    return ends


def send(end: socket.socket, message: Record, descriptors: Sequence[int] = ()) -> None:
    """Send one message; descriptors that are too many for its packet go ahead of it."""
    data = message.model_dump_json().encode()
    if len(data) > LONG and descriptors:
        with _file(data) as file:
            _send(end, ELSEWHERE, [*descriptors, file])
    else:
        _send(end, data, descriptors)


@contextmanager
def _file(data: bytes) -> Iterator[int]:
    """A file in memory that holds the bytes."""
    file = os.memfd_create("message")
    try:
        with open(file, "wb", closefd=False) as there:
            there.write(data)
        yield file
    finally:
        os.close(file)


def _send(end: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    ahead = max(0, len(descriptors) - 1) // AT_ONCE * AT_ONCE
    for first in range(0, ahead, AT_ONCE):
        socket.send_fds(end, [MORE], descriptors[first : first + AT_ONCE])
    if descriptors:
        socket.send_fds(end, [data], descriptors[ahead:])
    else:
        end.send(data)


def packet(end: socket.socket, descriptors: int = 0) -> tuple[bytes, list[int]]:
    """Wait for one message's packet and up to `descriptors` file descriptors, those ahead of it included.

    Raises:
        EOFError: the other end is gone.
        OSError: more descriptors came than are taken.
        TimeoutError: the socket's time-out passed.
    """
    data, received = _one(end, descriptors)
    while data == MORE and descriptors:
        data, others = _one(end, descriptors - len(received))
        received += others
    if data == ELSEWHERE and received:
        return _elsewhere(received.pop()), received
    return data, received


def _elsewhere(file: int) -> bytes:
    try:
        return os.pread(file, LONGEST, 0)
    finally:
        os.close(file)


def _one(end: socket.socket, descriptors: int) -> tuple[bytes, list[int]]:
    room, received = _room(), array("i")
    if descriptors:
        size, beside, flags, _ = end.recvmsg_into([room], socket.CMSG_SPACE(descriptors * received.itemsize))
        for level, kind, data in beside:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
        if flags & socket.MSG_CTRUNC:
            raise OSError(errno.EMFILE, f"a packet brought more than the {descriptors} descriptors that are taken")
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
