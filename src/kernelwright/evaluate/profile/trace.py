"""The second tier: what the driver recorded of each launch (CUPTI, through torch.profiler). Needs no privilege.

Decides which parts of an answer are believed: names, times and shapes of a process that may run foreign code. Refuses to
know how they were recorded: `sides/profiled.py` does that.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from kernelwright.evaluate.profile.launches import Seen
from kernelwright.records.launch import Dim3

MOST = 1 << 31
"""Largest number that a launch can have in a field."""


def seen_in(events: object) -> list[Seen]:
    """Launches as the child tells of them; an entry that makes no sense is left out."""
    entries = events if isinstance(events, Sequence) and not isinstance(events, str) else ()
    found = [_seen(entry) for entry in entries if isinstance(entry, Mapping)]
    return [seen for seen in found if seen is not None]


def _seen(entry: Mapping[object, object]) -> Seen | None:
    duration, count = entry.get("us"), entry.get("count")
    if not isinstance(duration, int | float) or not 0 <= duration < 1e12:
        return None
    if not isinstance(count, int) or not 0 < count < MOST:
        return None
    return Seen(
        name=str(entry.get("name", "")).encode(errors="replace").decode(),
        duration_us=float(duration),
        grid=_dims(entry.get("grid")),
        block=_dims(entry.get("block")),
        registers=_whole(entry.get("registers")),
        shared_bytes=_whole(entry.get("shared_bytes")),
        count=count,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def _dims(value: object) -> Dim3 | None:
    if not isinstance(value, list) or len(value) != 3 or not all((_whole(n) or 0) > 0 for n in value):
        return None
    return cast("Dim3", tuple(value))
