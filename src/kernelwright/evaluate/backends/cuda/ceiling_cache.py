"""Ceilings on disk: a device is measured once, until its driver or a library changes.

Decides where they lie and what makes two of them the same. A file that cannot be read is measured again; one that cannot
be written is done without.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from kernelwright.records.base import identity
from kernelwright.records.profile import Ceilings

FORM = 1
"""Raised whenever ceilings are measured in another way."""


def place(device: str, versions: Mapping[str, str]) -> Path:
    """The file for a device and the versions that can change its rates."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = identity("ceilings", {"form": FORM, "device": device, "versions": dict(versions)})
    return Path(base, "kernelwright", f"ceilings-{key}.json")


def load(file: Path) -> Ceilings | None:
    """What was measured before; None when there is nothing legible."""
    try:
        return Ceilings.model_validate_json(file.read_text())
    except (OSError, ValidationError):
        return None


def store(file: Path, ceilings: Ceilings) -> None:
    """Keep it; whole or not at all."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        made.write_text(ceilings.model_dump_json(indent=1))
        made.replace(file)
