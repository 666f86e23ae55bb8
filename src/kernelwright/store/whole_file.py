"""Writes a text's file whole or not at all, so that a full disk or a killed process leaves the old file intact.

The draft lies next to its place. What is not a plain file (a link, a pipe, a terminal) is written directly. Not
covered: a machine that loses power.
"""

import contextlib
import os
from pathlib import Path

from kernelwright.errors import StoreError


def write_whole(file: Path, text: str) -> Path:
    """Write the text beside its place, as UTF-8, and rename it; returns the file.

    Raises:
        StoreError: it cannot be written; what was there is still there.
    """
    try:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            file.write_text(text, encoding="utf-8")
        else:
            _replace(file, text)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror}): check the path and the disk") from None
    return file


def _replace(file: Path, text: str) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
