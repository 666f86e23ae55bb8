"""Check: one line of `doctor`, what this machine can do and the fix for what it cannot."""

from typing import Literal

from kernelwright.records.base import Record


class Check(Record):
    """One thing that was looked at."""

    name: str
    status: Literal["ok", "lost", "missing"]
    """`lost`: works with less protection or fewer features; `missing`: something needed is not here."""
    detail: str
    fix: str = ""
    """What to do about it; empty where nothing needs doing."""
