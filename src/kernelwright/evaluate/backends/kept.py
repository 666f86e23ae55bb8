"""Figures that outlive a run: one JSON file for each question, in the user's cache.

What cannot be read is measured again; what cannot be written is done without.
"""

import contextlib
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from kernelwright.errors import StoreError
from kernelwright.store.files import write_whole

T = TypeVar("T")


def read(kind: TypeAdapter[T], file: Path) -> T | None:
    """What was kept; None when there is nothing legible."""
    try:
        return kind.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def keep(kind: TypeAdapter[T], file: Path, value: T) -> None:
    """Keep it; whole or not at all, whoever else is writing the same file."""
    with contextlib.suppress(OSError, StoreError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, kind.dump_json(value, indent=1).decode())
