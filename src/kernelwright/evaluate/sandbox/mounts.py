"""The child's own view of the file system: a private tmpfs, its own /proc, and no home directory but the interpreter.

Needs a mount namespace of the child's own. An interpreter may live below a directory that only its owner may enter
(a pyenv in a home directory): such a directory is covered by an empty one in which only the interpreter is visible.
"""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from kernelwright.evaluate.sandbox import kernel

_TMPFS = kernel.MS_NOSUID | kernel.MS_NODEV
MS_BIND = 4096


def private(directory: str, size: int, trees: Iterable[str]) -> None:
    """Cover `directory` with an empty tmpfs of `size` bytes and expose `trees` to every user.

    Raises:
        OSError: the host denies mounts.
    """
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    for closed, inside in _closed(trees).items():
        _cover(closed, inside)
    kernel.mount("tmpfs", directory, "tmpfs", _TMPFS, f"size={size},mode=0777")
    # A fresh /proc hides the host's processes; a container may deny it, which loses nothing that Landlock and the
    # change of user do not cover.
    with contextlib.suppress(OSError):
        kernel.mount("proc", "/proc", "proc", _TMPFS)


def reachable(path: str) -> bool:
    """Whether every user may enter all directories above `path`, if there is such a path."""
    return not Path(path).exists() or _first_closed(path) is None


def _closed(trees: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tree in trees:
        closed = _first_closed(tree)
        if closed is not None and Path(tree).exists():
            found.setdefault(closed, []).append(tree)
    return found


def _first_closed(path: str) -> str | None:
    for parent in reversed(Path(path).parents):
        with contextlib.suppress(OSError):
            if not parent.stat().st_mode & stat.S_IXOTH:
                return str(parent)
    return None


def _cover(closed: str, trees: list[str]) -> None:
    tops = [t for t in trees if not any(t != o and t.startswith(o + "/") for o in trees)]
    held = {tree: os.open(tree, os.O_PATH) for tree in tops}
    kernel.mount("tmpfs", closed, "tmpfs", _TMPFS, "size=1m,mode=0755")
    for tree, descriptor in held.items():
        Path(tree).mkdir(parents=True, exist_ok=True)
        kernel.mount(f"/proc/self/fd/{descriptor}", tree, None, MS_BIND | kernel.MS_REC)
        os.close(descriptor)
