"""Why a kernel was not found right: one sentence of an evaluation, the same on every screen, in every table and in JSON.

What was found stands in the record; this only picks it out of a log where there is one.
"""

import re

from kernelwright.records.across import place
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Refused,
    Suspect,
    TimedOut,
)

LONGEST = 600
"""Characters of a log's line."""
_FRAME = re.compile(r"\S+\.py:\d+ in \S+: ")
_ERROR = re.compile(r"\berror\b( [A-Z]+\d+)?:")


def reason_of(evaluation: Evaluation) -> str:
    """Why a kernel was not found right, and of several workloads where; empty if it was."""
    why, where = _reason(evaluation), place(evaluation)
    if not why or not where:
        return why
    only = evaluation.workloads[-1].written_for
    cure = "take sizes from the tensors' shapes, or from AXIS_… in C++"
    return f"at {where}: {why}" + (f". It is written for {only} alone: {cure}" if only else "")


def _reason(evaluation: Evaluation) -> str:
    match evaluation:
        case Refused(reason=reason):
            return reason
        case BuildFailed(log=log):
            return gist(log)
        case Crashed(stage=stage, reason=reason, log=log):
            return f"{_raised(reason, log)} (while it was to {stage})"
        case TimedOut(stage=stage, limit_s=limit):
            return f"still busy after {limit:g} s (while it was to {stage})"
        case Incorrect(case=case, evidence=evidence):
            return f"{evidence} (case {case})"
        case Suspect(evidence=evidence):
            return evidence
        case Compiled(why=why):
            return f"it was not run{f': {why}' if why else ', since there is no such device here'}"
    return ""


def gist(log: str) -> str:
    """The line of a log that says what is wrong: a compiler's first error, or else the last one, where exceptions say it.

    Of an exception, the candidate's line that raised it follows.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    place = next(filter(_FRAME.match, reversed(lines)), "")
    found = next(filter(_ERROR.search, lines), lines[-1] if lines else "")
    told = f"{found} ({place})" if place not in ("", found) else found
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}…"


def _raised(reason: str, log: str) -> str:
    """An exception's name with its message. What a process that was killed had printed last says nothing."""
    told = gist(log) if reason.isidentifier() else ""
    return told if told.startswith(reason) else f"{reason}: {told}" if told else reason
