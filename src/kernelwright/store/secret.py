"""This user's secret, which seals what is stored, and what a file must be to be believed: this user's own, and no link.

The secret is made on first use, in `state_folder()`, and never leaves it: a run names only its id.
"""

import hmac
import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import StoreError
from kernelwright.pages import state_folder

OTHERS, OTHERS_WRITE = 0o077, 0o022
"""Modes that a private file, and one that others may read, must not have."""
BYTES = 32


class Secret(NamedTuple):
    """A key, and a name for it that tells nothing of it."""

    id: str
    key: bytes

    def seal(self, text: str) -> str:
        """The seal of a text, which names its secret; empty where there is none."""
        return f"{self.id}:{hmac.digest(self.key, text.encode(), 'sha256').hex()}" if self.id else ""


NOBODY_S = Secret("", b"")
"""Seals that prove nothing, and still find what broke by accident: no secret could be kept."""


def secret_file() -> Path:
    """Where this user's secret lies."""
    return state_folder() / "secret"


def find_secret() -> Secret | None:
    """This user's secret; None where there is none yet, or no place for one.

    Raises:
        StoreError: others may have read or exchanged it.
    """
    try:
        must_be_own(secret_file(), OTHERS)
        key = secret_file().read_bytes()
    except OSError:
        return None
    return Secret(sha256(b"kernelwright secret " + key).hexdigest()[:16], key) if len(key) == BYTES else None


def make_secret() -> Secret:
    """This user's secret, made where there is none; `NOBODY_S` where none can be kept.

    Raises:
        StoreError: others may have read or exchanged it.
    """
    if (found := find_secret()) is not None:
        return found
    with suppress(OSError):
        _write_new(secret_file())
    return find_secret() or NOBODY_S


def _write_new(file: Path) -> None:
    """The file, whole; who comes second takes the first one's."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f".secret.{secrets.token_hex(4)}")
    try:
        draft.touch(0o600, exist_ok=False)
        draft.write_bytes(secrets.token_bytes(BYTES))
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)


def must_be_own(file: Path, forbidden: int) -> None:
    """Ask whether a file is this user's own, no link, and of a mode without the forbidden bits.

    Raises:
        StoreError: it is not; says the cure.
        OSError: it is not there, or cannot be looked at.
    """
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{file} is a link or no file, and is not followed: put the file itself there")
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{file} belongs to another user ({found.st_uid}), who may have changed it: work as that user, or copy it "
            "(`cp -r`) and use the copy"
        )
    if found.st_mode & forbidden and _keeps_modes(file.parent):
        raise StoreError(
            f"other users may have changed {file} (its mode is {stat.S_IMODE(found.st_mode):o}): if you trust what is in "
            f"it, `chmod go-{'rwx' if forbidden == OTHERS else 'w'} {file}`, else remove it"
        )


def _keeps_modes(folder: Path) -> bool:
    """Whether a file there has the mode that it is made with; some file systems show one for all."""
    probe = folder / f".mode.{secrets.token_hex(4)}"
    try:
        descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return True
    try:
        return not os.fstat(descriptor).st_mode & OTHERS
    finally:
        os.close(descriptor)
        probe.unlink()
