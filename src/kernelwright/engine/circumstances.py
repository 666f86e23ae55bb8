"""Circumstances: what of device, versions and isolation is not what it was.

A device's measured ceilings are answers and do not count.
"""

from kernelwright.records.run import Environment
from kernelwright.records.standing import Change

ABSENT = "absent"


def changes(then: Environment, now: Environment) -> list[Change]:
    """Device and versions that differ, by name."""
    before, after = _named(then), _named(now)
    return [
        Change(name=name, then=before.get(name, ABSENT), now=after.get(name, ABSENT))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def isolation_changes(then: Environment, now: Environment) -> list[Change]:
    """The parts of the sandbox, where they differ."""
    before, after = ", ".join(then.isolation) or "none", ", ".join(now.isolation) or "none"
    return [Change(name="isolation", then=before, now=after)] if set(then.isolation) != set(now.isolation) else []


def _named(found: Environment) -> dict[str, str]:
    device = found.device
    return {**found.versions, "device": f"{device.name} ({device.cores} cores)"}
