"""Memory of the machine that the referee works on: what it has, and what is left of it."""

import re
from pathlib import Path

GIB = 2**30
SHORT = 1 / 4
"""Share of the memory that is left, under which whatever is kept only because it was started must go."""
CGROUPS = Path("/sys/fs/cgroup")
VERSIONS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
"""Of control groups, 2 and 1: what a container may have, what it has, and what of that the kernel frees when it is asked."""


def memory(meminfo: Path = Path("/proc/meminfo"), cgroups: Path = CGROUPS) -> tuple[int, int] | None:
    """Bytes in all, and bytes that are left, of the machine or of the container around us; None where nothing says so."""
    try:
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", meminfo.read_text(encoding="ascii"), re.MULTILINE))
        total, free = (int(found[name]) << 10 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError):
        return None
    for limit, used, stat, freed in VERSIONS:
        try:
            most, taken = (int((cgroups / name).read_text(encoding="ascii")) for name in (limit, used))
            kept = dict(line.split() for line in (cgroups / stat).read_text(encoding="ascii").splitlines())
            return min(total, most), min(free, max(most - taken + int(kept[freed]), 0))
        except (OSError, ValueError, KeyError):
            continue
    return total, free


def is_short(found: tuple[int, int] | None) -> bool:
    """Whether so little is left that a further task may end a process."""
    return found is not None and found[1] < SHORT * found[0]


def words(found: tuple[int, int] | None) -> str:
    """For a sentence about what "this machine has"."""
    return f"{found[0] / GIB:.1f} GiB, of which {found[1] / GIB:.1f} are free now" if found else "too little left"
