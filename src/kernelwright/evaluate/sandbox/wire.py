"""Messages between the grader, the warm parent and its children: JSON over a SOCK_SEQPACKET pair, with descriptors.

A message is one packet, so it is whole or absent. Decides nothing about what is said.
"""

import json
import socket
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
LIMIT = 1 << 20
"""Largest message in bytes."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends, with buffers that hold the largest message."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LIMIT)
    return ends


def send(end: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send one message."""
    data = json.dumps(message, separators=(",", ":")).encode()
    if descriptors:
        socket.send_fds(end, [data], list(descriptors))
    else:
        end.send(data)


def receive(end: socket.socket, descriptors: int = 0) -> tuple[Message, list[int]]:
    """Wait for one message and up to `descriptors` file descriptors.

    Raises:
        EOFError: the other end is gone.
        TimeoutError: the socket's time-out passed.
        ValueError: it is not a JSON object, or no sane one.
    """
    if descriptors:
        data, received, _, _ = socket.recv_fds(end, LIMIT, descriptors)
    else:
        data, received = end.recv(LIMIT), []
    if not data:
        raise EOFError
    return read(data), received


def read(data: bytes) -> Message:
    """The message of a packet.

    Raises:
        ValueError: it is not a JSON object, or no sane one.
    """
    try:
        message = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError(f"expected a JSON object, got {type(message).__name__}")
    return message
