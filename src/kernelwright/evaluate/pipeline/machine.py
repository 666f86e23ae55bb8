"""Memory of the machine that the referee works on: what it has, and what is left of it."""

import re
from pathlib import Path

GIB = 2**30
SHORT = 1 / 4
"""Share of the memory that is left, under which whatever is kept only because it was started must go."""
LIMIT, USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
"""What a container may have, and has; a file each where the kernel counts it."""


def memory(meminfo: Path = Path("/proc/meminfo"), limit: Path = LIMIT, used: Path = USED) -> tuple[int, int] | None:
    """Bytes in all, and bytes that are left, of the machine or of the container around us; None where nothing says so."""
    try:
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", meminfo.read_text(encoding="ascii"), re.MULTILINE))
        total, free = (int(found[name]) << 10 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError):
        return None
    try:
        most, taken = int(limit.read_text(encoding="ascii")), int(used.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return total, free
    return min(total, most), min(free, max(most - taken, 0))


def is_short(found: tuple[int, int] | None) -> bool:
    """Whether so little is left that a further task may end a process."""
    return found is not None and found[1] < SHORT * found[0]


def words(found: tuple[int, int] | None) -> str:
    """For a sentence about what "this machine has"."""
    return f"{found[0] / GIB:.1f} GiB, of which {found[1] / GIB:.1f} are free now" if found else "too little left"
