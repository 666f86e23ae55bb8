"""Experience: what became of candidates, as rows that a predictor learns from.

The file is plain JSON lines: data that anybody may read, and no program that runs when it is loaded.
"""

from collections.abc import Iterable
from math import log2
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.errors import StoreError
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.evaluation import Evaluation, Measured, is_right
from kernelwright.records.task import Task
from kernelwright.reward.predictor.features import features

UNSURE = 1.5
"""Ratio of the ends of a speedup's interval beyond which it says nothing of which kernel is faster."""


class Row(Record):
    """One candidate, once judged."""

    task: str
    """The task's id: rows of one task are compared with each other, and kept together when a predictor is tested."""
    features: dict[str, float]
    valid: bool
    speed: float | None
    """log2 of the speedup over eager; None where it was not timed, or on a machine too busy to say."""
    preset: str = ""
    """The name of the reward that the search was told; empty: none was."""
    reward: float | None = None
    """What it came to."""


class Told(NamedTuple):
    """What a search was told of an attempt: a reward by its name, and what it came to."""

    preset: str
    reward: float


def row_of(task: Task, attempt: Attempt, told: Told | None = None) -> Row | None:
    """What an attempt taught; None where nothing can be said of its validity (built for a device that is not here).

    What feedback says in words is in `valid` and `speed` as labels.
    """
    found = attempt.evaluation
    if found.outcome == "compiled":
        return None
    return Row(
        task=task.id,
        features=features(task, attempt.proposal.candidate, found),
        valid=is_right(found),
        speed=speed_of(found),
        preset=told.preset if told else "",
        reward=told.reward if told else None,
    )


def speed_of(found: Evaluation) -> float | None:
    """log2 of the speedup over eager, where the clock was sure enough to tell kernels apart."""
    versus = found.timing.against("eager") if isinstance(found, Measured) else None
    if versus is None or not 0 < versus.speedup.high <= UNSURE * versus.speedup.low:
        return None
    return log2(versus.speedup.median)


def text_of(rows: Iterable[Row]) -> str:
    """Experience as JSON lines, for `read_rows`."""
    return "".join(row.model_dump_json() + "\n" for row in rows)


def read_rows(file: Path) -> tuple[Row, ...]:
    """Experience that was written.

    Raises:
        StoreError: the file is missing, or a line of it is no row.
    """
    try:
        return tuple(Row.model_validate_json(line) for line in file.read_text(encoding="utf-8").splitlines() if line)
    except OSError as error:
        raise StoreError(f"experience {str(file)!r} cannot be read ({error.strerror}): check --predictor") from None
    except (ValidationError, UnicodeDecodeError):
        raise StoreError(
            f"experience {str(file)!r} has a line that is no row: write it anew with `kernelwright learn`"
        ) from None
