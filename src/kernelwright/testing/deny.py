"""Starts a command on a host that denies: `python -m kernelwright.testing.deny namespaces,landlock COMMAND…`.

The kernel refuses the system calls that each named part of the sandbox needs, as under container engines. The filter
stays with the command and all it starts.
"""

import os
import sys

from kernelwright.errors import UsageError
from kernelwright.evaluate.sandbox import kernel, seccomp

CALLS = {
    "namespaces": (seccomp.UNSHARE, 308),
    "tmpfs": (165, 428, 429, 430),
    "landlock": (444, 445, 446),
}
"""System calls (x86-64) without which a part of the sandbox cannot be had: unshare and setns; mount and its newer affinity;
the three of Landlock."""


def deny(parts: list[str]) -> None:
    """Refuse these parts to this process, and to all that it starts, for ever.

    Raises:
        UsageError: there is no such part.
        OSError: the host denies filters.
    """
    unknown = [part for part in parts if part not in CALLS]
    if unknown:
        raise UsageError(f"no part of the sandbox is called {', '.join(unknown)}; known are {', '.join(CALLS)}")
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.apply(seccomp.program([call for part in parts for call in CALLS[part]], processes=True))


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
