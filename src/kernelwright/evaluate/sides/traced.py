"""A few calls as the driver recorded them (CUPTI, through torch.profiler), equal launches summed. Runs inside children."""

import json
from collections.abc import Iterable
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides.subject import WARM_CALLS, Call

TRACE = "trace.json"
TRACED_CALLS = 3
MOST_KINDS = 300
LONGEST_NAME = 1000
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def traced(call: Call) -> Message:
    """`events` of `calls` calls, after as many as warm everything up.

    Raises:
        RuntimeError: nothing was recorded.
    """
    for _ in range(WARM_CALLS):
        call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(TRACED_CALLS):
            call()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(TRACE)
    events = summed(json.loads(Path(TRACE).read_text(errors="replace"))["traceEvents"])
    if not events:
        raise RuntimeError("the profiler recorded no activity of the device")
    return {"events": events, "calls": TRACED_CALLS}


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
