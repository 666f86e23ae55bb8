"""Exceptions that nobody foresaw: the author's own faults, which decline an operation or a task and never end a search."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

from kernelwright.errors import ProposeError
from kernelwright.records.task import Task

LOG = logging.getLogger(__name__)
DEEP = 10_000
"""Frames of a walk down an expression: some three a step, and a recurrence of hundreds of steps may be one expression."""
HERE = Path(__file__).parent


def described(error: Exception, where: str) -> str:
    """What broke and in which line of the author; the log has the traceback, for a bug report."""
    frames = extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if Path(f.filename).is_relative_to(HERE)), frames[-1])
    place = f"{Path(last.filename).name}:{last.lineno} in {last.name}"
    LOG.info("a fault of the built-in author at %s", where, exc_info=error)
    return f"a fault of the built-in author ({type(error).__name__}: {error}, {place}), please report it"


@contextmanager
def declines(task: Task) -> Iterator[None]:
    """Make a `ProposeError` of any exception within, where expressions may be deep; `kernelwright --debug` shows it.

    Raises:
        ProposeError: there was one.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    except ProposeError:
        raise
    except Exception as error:
        raise ProposeError(f"{task.name!r}: {described(error, task.name)}") from error
    finally:
        sys.setrecursionlimit(before)
