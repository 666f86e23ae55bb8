"""Packets between the grader, the warm parent and its children: one JSON object each, over a SOCK_SEQPACKET pair.

A packet is whole or absent, and may bring descriptors. What it may say stands in `sandbox.messages`.
"""

import socket
from collections.abc import Sequence
from typing import TypeVar

from kernelwright.records.base import Record

LIMIT = 1 << 20
"""Largest packet in bytes."""
M = TypeVar("M", bound=Record)


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
    # To make room for the largest packet each time would take longer than all the rest.
    size = min(end.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC), LIMIT)
    if descriptors:
        data, received, _, _ = socket.recv_fds(end, size, descriptors)
    else:
        data, received = end.recv(size), []
    if not data:
        raise EOFError
    return data, received


def receive(end: socket.socket, kind: type[M]) -> M:
    """Wait for one message of a kind.

    Raises:
        EOFError, TimeoutError: as `packet`.
        ValueError: it is another one.
    """
    return kind.model_validate_json(packet(end)[0])
