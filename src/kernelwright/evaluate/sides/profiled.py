"""A candidate under a profiler, in its own process: traced here, or counted by a tool that is started beside it.

Nothing that this process says is trusted: a profile advises, and no verdict rests on it.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.rates import rates
from kernelwright.evaluate.sides.subject import BINARY, LIBRARY, subject
from kernelwright.evaluate.sides.traced import traced

ORDER = "order.json"
LONGEST = 400_000
"""Characters of a tool's log that fit one message with room to spare."""


class ProfiledSide:
    """State of this process: the order, and the binaries beside it."""

    def prepare(self, message: Message) -> Message:
        """Write the order and the binaries that came as descriptors where a started tool finds them."""
        order = message["order"]
        library = order["kind"] == "library"
        for index, descriptor in enumerate(message["descriptors"]):
            image = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            Path(LIBRARY if library else BINARY.format(index)).write_bytes(image)
            os.close(descriptor)
        Path(ORDER).write_text(json.dumps(order))
        return {}

    def trace(self, message: Message) -> Message:
        """Launches of a few calls as the driver recorded them."""
        return traced(subject(json.loads(Path(ORDER).read_text())))

    def count(self, message: Message) -> Message:
        """Run the tool, if any, on the order in an interpreter of its own; the log, whether it succeeded or not."""
        target = [sys.executable, "-m", "kernelwright.evaluate.sides.profile_target", ORDER, str(message["log"])]
        argv = [*message["argv"], *target]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        log = Path(str(message["log"]))
        written = log.read_text(errors="replace") if log.exists() else ""
        said = (done.stdout + done.stderr)[-4000:]
        return {"status": done.returncode, "written": written[:LONGEST], "said": said}

    def rates(self, message: Message) -> Message:
        """What this device can do at most; asked before any foreign code is here."""
        return rates()


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `prepare`, `trace`, `count` and `rates`."""
    side = ProfiledSide()
    session.serve(control, {n: getattr(side, n) for n in ("prepare", "trace", "count", "rates")})
