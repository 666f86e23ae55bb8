"""A candidate under a profiler, in its own process: traced here, or counted by a tool that is started beside it.

Nothing that this process says is trusted: a profile advises, and no verdict rests on it.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.rates import rates
from kernelwright.evaluate.sides.subject import BINARY, LIBRARY, WARM_CALLS, subject

ORDER, TRACE = "order.json", "trace.json"
TRACED_CALLS = 3
LONGEST = 400_000
"""Characters of a tool's log that fit one message with room to spare."""
MOST_KINDS = 300
LONGEST_NAME = 1000
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


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
        call = subject(json.loads(Path(ORDER).read_text()))
        for _ in range(WARM_CALLS):
            call()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            for _ in range(TRACED_CALLS):
                call()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(TRACE)
        events = json.loads(Path(TRACE).read_text(errors="replace"))["traceEvents"]
        return {"events": summed(events), "calls": TRACED_CALLS}

    def count(self, message: Message) -> Message:
        """Run the tool on the order; its log, whether it succeeded or not."""
        argv = [*message["argv"], sys.executable, "-m", "kernelwright.evaluate.sides.profile_target", ORDER]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        log = Path(str(message["log"]))
        written = log.read_text(errors="replace") if log.exists() else ""
        said = (done.stdout + done.stderr)[-4000:]
        return {"status": done.returncode, "written": written[:LONGEST], "said": said}

    def rates(self, message: Message) -> Message:
        """What this device can do at most; asked before any foreign code is here."""
        return rates()


def summed(events: Iterable[object]) -> list[Message]:
    """Device activities of a Chrome trace, equal launches together: a message has room for few hundred."""
    found: dict[str, Message] = {}
    for event in events:
        if not isinstance(event, dict) or event.get("cat") not in KINDS:
            continue
        told = event.get("args") or {}
        entry: Message = {
            "name": str(event.get("name", ""))[:LONGEST_NAME],
            "grid": told.get("grid"),
            "block": told.get("block"),
            "registers": told.get("registers per thread"),
            "shared_bytes": told.get("shared memory"),
        }
        known = found.setdefault(json.dumps(entry, sort_keys=True, default=str), {**entry, "us": 0.0, "count": 0})
        known["us"] += float(event.get("dur", 0.0))
        known["count"] += 1
    return sorted(found.values(), key=lambda e: -float(e["us"]))[:MOST_KINDS]


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `prepare`, `trace`, `count` and `rates`."""
    side = ProfiledSide()
    session.serve(control, {n: getattr(side, n) for n in ("prepare", "trace", "count", "rates")})
