"""Roots: the folders below which a coding agent may name task files.

Links are resolved first. A path outside the roots and a path that does not exist get the same answer, so that an agent
learns nothing about what lies elsewhere.
"""

from collections.abc import Sequence
from pathlib import Path

from kernelwright.errors import UsageError

LONGEST = 1024
"""Characters of a path."""


class Roots:
    """Some folders and what is below them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folder.resolve() for folder in folders)

    def find(self, name: str) -> Path:
        """The file of that name, relative to one of the folders or absolute.

        Raises:
            UsageError: it is not there, or leads outside.
        """
        for folder in self._folders:
            found = _real(folder, name)
            if found is not None and any(found.is_relative_to(allowed) for allowed in self._folders):
                return found
        raise UsageError(
            f"task {name[:LONGEST]!r} is no file below {' or '.join(map(str, self._folders))}: put it there, pass its "
            "text instead, or start the server with --root and the folder that it is in"
        )


def _real(folder: Path, name: str) -> Path | None:
    if not name or len(name) > LONGEST:
        return None
    try:
        found = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # not there; NUL, or what no file system can say; a loop of links
        return None
    return found if found.is_file() else None
