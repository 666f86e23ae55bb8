"""The dialogue of a child with the grader: one answer for each question, until the socket closes.

It runs in the process of untrusted code, so nothing that it says is trusted, exceptions included.
"""

import socket
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.evaluate.sandbox import handover, wire
from kernelwright.evaluate.sandbox.messages.base import Answer, Raised, Reply
from kernelwright.evaluate.sandbox.messages.entrypoints import AnyCommand, read_question

Handlers = Mapping[type[AnyCommand], Callable[[Any], Reply | Raised]]
"""What answers a command, by its type."""
FILES = 2048
"""Most descriptors that come with a question: one for each input, parameter and binary; half of what a child may hold open."""


def serve(control: socket.socket, handlers: Handlers) -> None:
    """Answer until the grader is gone."""
    while True:
        try:
            question = read_question(*wire.packet(control, FILES))
        except EOFError:
            return
        try:
            said = handlers[type(question.command)](question.command)
        except Exception as error:  # noqa: BLE001 (untrusted code: whatever it raises is its result)
            said = Raised(error=type(error).__name__, log=_shorten(error))
        raised = isinstance(said, Raised)
        wire.send(
            control, Answer(serial=question.serial, reply=None if raised else said, raised=said if raised else None)
        )


def in_turn(control: socket.socket, count: int, compute: Callable[[tuple[int, ...]], Sequence[int]]) -> None:
    """Take so many calls from the grader one by one: `compute` is told a call's numbers and says where results lie."""
    for _ in range(count):
        packet = control.recv(handover.LIMIT)
        if not packet:
            raise EOFError
        control.send(handover.packed(compute(handover.unpacked(packet))))


def _shorten(error: BaseException, limit: int = 6000) -> str:
    text = "".join(traceback.format_exception(error))
    return text if len(text) <= limit else f"{text[:1000]}\n…\n{text[-limit:]}"
