"""Reads a text file that a person named, with one clear message for each way that it cannot be read."""

from pathlib import Path

from kernelwright.errors import TaskError

LIMIT_BYTES = 4 << 20
"""Longer than any source that a person wrote."""


def read_text(path: Path, what: str) -> str:
    """The file's text, without a byte order mark.

    Raises:
        TaskError: it does not exist, is no file, cannot be opened, is too long, or is not UTF-8.
    """
    if not path.exists():
        raise TaskError(f"{what} {str(path)!r} does not exist: check the path")
    if not path.is_file():
        raise TaskError(f"{what} {str(path)!r} is not a file: name one source file")
    try:
        if path.stat().st_size > LIMIT_BYTES:
            raise TaskError(f"{what} {str(path)!r} is longer than {LIMIT_BYTES >> 20} MiB: name one source file")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{what} {str(path)!r} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except OSError as error:
        raise TaskError(f"{what} {str(path)!r} cannot be read ({error.strerror}): check its permissions") from None
