"""How the command ends when it is told to: SIGTERM is Ctrl-C, and as process 1 of a container it has an init above it."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def terminate_as_interrupt() -> None:
    """Have SIGTERM do what Ctrl-C does, also where Ctrl-C itself is ignored, as in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Still deaf to it, and yet with the handler that asyncio takes over from.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    assert callable(handler)
    handler(signal.SIGINT, frame)


def under_init(run: Callable[[], int]) -> int:
    """Run in a child, and meanwhile do what process 1 must: reap whatever is left to it, and pass signals on."""
    child = os.fork()
    if child == 0:
        sys.exit(run())
    for number in FORWARDED:
        signal.signal(number, lambda told, _: _tell(child, told))
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _tell(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)
