"""What `optimize` shows while it works: live lines in a terminal, plain ones in a notebook, log records in a script."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TextIO, cast

from rich.console import Console

from kernelwright import api
from kernelwright.interfaces.cli.screen import Screen

LOG = logging.getLogger("kernelwright")


class LogLines:
    """A text stream whose lines are log records."""

    def write(self, text: str) -> int:
        """Log what is not empty."""
        for line in filter(None, map(str.strip, text.splitlines())):
            LOG.info("%s", line)
        return len(text)

    def flush(self) -> None:
        """Every line is logged when it is written."""


@contextmanager
def shown(progress: bool | None, suppliers: "api.Suppliers | None") -> Iterator["api.Suppliers"]:
    """The parts of a run, whose events are shown.

    Args:
        progress: None: as suits where this runs; the listener of parts that were handed in stays. False: nothing is shown.
        suppliers: the run's parts; None: the installed ones.
    """
    parts = suppliers or api.Suppliers()
    if progress is False or (progress is None and suppliers is not None):
        yield parts
        return
    with Screen(_console(progress)) as screen:
        yield replace(parts, listener=screen)


def _console(progress: bool | None) -> Console:
    if "ipykernel" in sys.modules:
        # Plain lines: what moves needs widgets there.
        return Console(file=sys.stdout, force_jupyter=False, force_terminal=False, soft_wrap=True, highlight=False)
    if progress or sys.stderr.isatty():
        return Console(stderr=True, soft_wrap=True, highlight=False)
    return Console(
        file=cast("TextIO", LogLines()), force_terminal=False, no_color=True, soft_wrap=True, highlight=False
    )
