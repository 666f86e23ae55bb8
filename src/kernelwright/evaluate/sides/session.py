"""The dialogue of a child with the grader: one answer a question, until the socket closes.

Decides how an exception is reported. It runs in the process of foreign code, so nothing that it says is trusted.
"""

import socket
import traceback
from collections.abc import Callable, Mapping, Sequence

from kernelwright.evaluate.sandbox import turns, wire

Command = Callable[[wire.Message], wire.Message]


def serve(control: socket.socket, commands: Mapping[str, Command]) -> None:
    """Answer until the grader is gone."""
    while True:
        try:
            question, descriptors = wire.receive(control, 64)
        except EOFError:
            return
        try:
            answer = commands[str(question["do"])]({**question, "descriptors": descriptors})
        except Exception as error:  # noqa: BLE001 (foreign code: whatever it raises is its result)
            answer = {"error": type(error).__name__, "log": _shorten(error)}
        wire.send(control, {**answer, "serial": question["serial"]})


def in_turn(control: socket.socket, count: int, compute: Callable[[tuple[int, ...]], Sequence[int]]) -> None:
    """Take so many calls from the grader one by one: `compute` is told a call's numbers and says where results lie."""
    for _ in range(count):
        packet = control.recv(turns.LIMIT)
        if not packet:
            raise EOFError
        control.send(turns.packed(compute(turns.unpacked(packet))))


def _shorten(error: BaseException, limit: int = 6000) -> str:
    text = "".join(traceback.format_exception(error))
    return text if len(text) <= limit else f"{text[:1000]}\n…\n{text[-limit:]}"
