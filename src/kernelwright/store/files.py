"""Text files that survive a full disk or a killed process: written whole or not at all, or line by line.

`write_whole` lays its draft next to its place; what is not a plain file (a link, a pipe, a terminal) is written
directly. `Lines` holds one record a line, for work that may be interrupted and continued: a line is on the disk before
`append` returns, the torn last line of a killed writer is left out, and one process writes at a time. Not covered: a
machine that loses power for the first, a file system without working `fsync` or `flock` for the second.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from pydantic import ValidationError

from kernelwright.errors import StoreError
from kernelwright.records.base import Record


def write_whole(file: Path, text: str, *, follow: bool = True) -> Path:
    """Write the text beside its place, as UTF-8, and rename it; returns the file.

    `follow` is for a file that a person named. In a folder that may come from somebody else, a link is replaced.

    Raises:
        StoreError: it cannot be written; what was there is still there.
    """
    try:
        if follow and (file.is_symlink() or (file.exists() and not file.is_file())):
            file.write_text(text, encoding="utf-8")
        else:
            _replace(file, text)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror}): check the path and the disk") from None
    return file


def make_folder(folder: Path, fix: str) -> Path:
    """Make a folder and those above it, where they are not there; returns it.

    Raises:
        StoreError: it cannot be made; `fix` says what to do then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made ({error.strerror}): {fix}") from None
    return folder


def must_be_writable(file: Path, flag: str) -> None:
    """Ask whether `write_whole` could write a file, before anything is spent on its text. Nothing is left behind.

    Raises:
        StoreError: it could not; names the flag that asked for it.
    """
    if file.is_dir():
        raise StoreError(f"{flag}: {file} is a folder: name a file in it")
    if file.is_file() or not file.exists():
        _must_take_files(file.parent, f"{flag}: {file} cannot be written")


def must_take_folders(place: Path, flag: str) -> None:
    """Ask whether folders can be made below a place, which need not be there yet. Nothing is left behind.

    Raises:
        StoreError: they cannot; names the flag that asked for it.
    """
    there = next(parent for parent in (place.absolute(), *place.absolute().parents) if parent.exists())
    _must_take_files(there, f"{flag}: no folder can be made in {place}")


def _must_take_files(folder: Path, words: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StoreError(
            f"{words} ({folder}: {error.strerror}): check the path and the disk, or name another"
        ) from None


def _replace(file: Path, text: str) -> None:
    # The threads of one process may write the same file, so its id would not do. `mkstemp` would leave out the umask.
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


R = TypeVar("R", bound=Record)

BLOCK = 1 << 16
"""Bytes that are read at once from the end of a file."""


class Lines(Generic[R]):
    """An open file of records of one kind."""

    def __init__(self, kind: type[R], file: Path, descriptor: int) -> None:
        self._kind, self._file, self._descriptor = kind, file, descriptor
        size = os.fstat(descriptor).st_size
        self._torn = bool(size) and os.pread(descriptor, 1, size - 1) != b"\n"

    def read(self) -> list[R]:
        """What the file holds; lines of other versions and torn ones are left out."""
        return read_lines(self._kind, self._file)

    def append(self, record: R) -> None:
        """Add one record, for good.

        Raises:
            StoreError: the disk is full, or the file cannot be written.
        """
        # A torn line is ended first, so that it takes no other line with it.
        start, self._torn = b"\n" if self._torn else b"", True
        try:
            line = start + record.model_dump_json().encode() + b"\n"
            if os.write(self._descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            raise StoreError(
                f"{self._file} cannot be written ({error.strerror}): free some space; what is in it is kept, and the "
                "same command goes on from there"
            ) from None
        self._torn = False


@contextmanager
def open_lines(kind: type[R], file: Path) -> Iterator[Lines[R]]:
    """The file, made if it is not there, and this process's alone until the end.

    Raises:
        StoreError: it cannot be opened, or another process is writing to it.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror}): check the path and the disk") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{file} is no regular file: name one that can be continued")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Lines(kind, file, descriptor)
    except BlockingIOError:
        raise StoreError(f"{file} is being written by another process: wait until it ends") from None
    finally:
        os.close(descriptor)


def read_lines(kind: type[R], file: Path) -> list[R]:
    """What a file of lines holds, also while another process writes to it; empty where there is none."""
    if not file.is_file():
        return []
    with file.open("rb") as lines:
        return list(_records(kind, lines))


def latest_lines(kind: type[R], file: Path) -> Iterator[R]:
    """The same from the last line to the first, read as far as they are asked for, so that no file is too long."""
    if file.is_file():
        with file.open("rb") as stored:
            yield from _records(kind, _backwards(stored))


def _backwards(stored: BinaryIO) -> Iterator[bytes]:
    place, begun = stored.seek(0, os.SEEK_END), b""
    while place:
        size = min(BLOCK, place)
        place -= size
        stored.seek(place)
        begun, *whole = (stored.read(size) + begun).split(b"\n")
        yield from reversed(whole)
    yield begun


def _records(kind: type[R], lines: Iterable[bytes]) -> Iterator[R]:
    for line in lines:
        with contextlib.suppress(ValidationError):
            yield kind.model_validate_json(line)
