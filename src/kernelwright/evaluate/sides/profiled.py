"""A candidate under a profiler, in its own process: traced here, or counted by a tool that is started beside it.

Nothing that this process says is trusted: a profile advises, and no verdict rests on it.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.sandbox.messages.tools import (
    Counted,
    CountUnder,
    MeasureRates,
    PrepareProfile,
    ProfileOrder,
    Rates,
    Trace,
    Traced,
)
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.rates import rates
from kernelwright.evaluate.sides.subject import BINARY, LIBRARY, subject
from kernelwright.evaluate.sides.traced import traced

ORDER = "order.json"
LONGEST = 400_000
"""Characters of a tool's log that fit one message with room to spare."""


class ProfiledSide:
    """State of this process: the order, and the binaries beside it."""

    def prepare(self, command: PrepareProfile) -> Done:
        """Write the order and the binaries that came as descriptors where a started tool finds them."""
        library = command.order.subject.kind == "library"
        for index, descriptor in enumerate(command.files):
            image = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            Path(LIBRARY if library else BINARY.format(index)).write_bytes(image)
            os.close(descriptor)
        Path(ORDER).write_text(command.order.model_dump_json())
        return Done()

    def trace(self, command: Trace) -> Traced:
        """Launches of a few calls as the driver recorded them."""
        return traced(subject(ProfileOrder.model_validate_json(Path(ORDER).read_text()).subject))

    def count(self, command: CountUnder) -> Counted:
        """Run the tool, if any, on the order in an interpreter of its own; the log, whether it succeeded or not."""
        target = [sys.executable, "-m", "kernelwright.evaluate.sides.profile_target", ORDER, command.log]
        argv = [*command.argv, *target]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        log = Path(command.log)
        written = log.read_text(errors="replace") if log.exists() else ""
        said = (done.stdout + done.stderr)[-4000:]
        return Counted(status=done.returncode, written=written[:LONGEST], said=said)

    def rates(self, command: MeasureRates) -> Rates:
        """What this device can do at most; asked before any foreign code is here."""
        return rates()


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = ProfiledSide()
    handlers: session.Handlers = {
        PrepareProfile: side.prepare,
        Trace: side.trace,
        CountUnder: side.count,
        MeasureRates: side.rates,
    }
    session.serve(control, handlers)
