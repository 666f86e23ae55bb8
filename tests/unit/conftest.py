"""Fixtures for every unit test."""

import errno
import os
import pkgutil
from pathlib import Path

import pytest


@pytest.fixture
def modules_of():
    """Names of the modules directly inside a package: what a table must agree with."""
    return lambda package: {module.name for module in pkgutil.iter_modules(package.__path__)}


@pytest.fixture
def full_disk(monkeypatch):
    """Fills the disk: from then on half of a text is written, and no more."""

    def half(file, text, *args, **named):
        with file.open("w", encoding="utf-8") as stream:
            stream.write(text[: len(text) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(Path, "write_text", half)
