"""A few calls as the driver recorded them (CUPTI, through torch.profiler), equal launches summed. Runs inside children."""

import json
from collections.abc import Iterable
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.messages.tools import Activity, Traced
from kernelwright.evaluate.sides.subject import WARM_CALLS, Call

TRACE = "trace.json"
TRACED_CALLS = 3
MOST_KINDS = 300
LONGEST_NAME = 1000
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def traced(call: Call) -> Traced:
    """Activities of a few calls, after as many as warm everything up.

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
    activities = summed(json.loads(Path(TRACE).read_text(errors="replace"))["traceEvents"])
    if not activities:
        raise RuntimeError("the profiler recorded no activity of the device")
    return Traced(calls=TRACED_CALLS, activities=activities)


def summed(events: Iterable[object]) -> list[Activity]:
    """Device activities of a Chrome trace, equal launches together: a message has room for few hundred."""
    found: dict[Activity, tuple[float, int]] = {}
    for event in events:
        if isinstance(event, dict) and event.get("cat") in KINDS:
            alone = _activity(event)
            us, count = found.get(alone, (0.0, 0))
            found[alone] = us + float(event.get("dur", 0.0)), count + 1
    longest = sorted(found.items(), key=lambda item: -item[1][0])[:MOST_KINDS]
    return [alone.model_copy(update={"us": us, "count": count}) for alone, (us, count) in longest]


def _activity(event: dict[str, object]) -> Activity:
    """What is the same of equal launches, without their time."""
    told = event.get("args")
    told = told if isinstance(told, dict) else {}
    return Activity(
        name=str(event.get("name", ""))[:LONGEST_NAME],
        us=0.0,
        count=1,
        grid=told.get("grid"),
        block=told.get("block"),
        registers=told.get("registers per thread"),
        shared_bytes=told.get("shared memory"),
    )
