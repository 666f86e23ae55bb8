"""What starts of one kernel differ by on this machine, which no sample of one start shows: by its record of repeats.

A process is fast or slow for as long as it lives, and so is the reference's beside it. So whenever a final judges a kernel,
its median beside eager is written down; where the same kernel was judged before, by other processes, that is a
repeat. All kernels' repeats are pooled. An interval is widened by what one start lies from the mean of all in 99 of 100 cases,
if starts are normal. A machine without repeats is taken for a usual one, until it has many of its own.
"""

from math import log, sqrt
from pathlib import Path
from statistics import fmean

from pydantic import TypeAdapter

from kernelwright.evaluate.backends import kept
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.timing.statistics import student_t_quantile
from kernelwright.pages import state_folder
from kernelwright.records.base import identity
from kernelwright.records.evaluation import Measured
from kernelwright.records.run import Device

USUAL, USUAL_ON_DEVICE = 0.01, 0.0
"""Standard deviation of a start's log ratio that is assumed, and how many repeats of one's own weigh as much."""
FREEDOM = 4
MOST_KERNELS, MOST_STARTS = 256, 8
"""Of the record: the oldest go first."""
Logs = dict[str, list[float]]
_KEPT: TypeAdapter[Logs] = TypeAdapter(Logs)


def beyond_starts(found: Measured, trial: Trial, device: Device, on_device: bool) -> Measured:
    """The finding, with intervals that hold for other starts too; a final is noted, unless others disturbed it."""
    timing, file = found.timing, file_of(device)
    apart, eager = spread(file, on_device), timing.against("eager")
    if trial.effort == "final" and eager is not None and not (timing.load and timing.load.busy):
        kernel = identity("start", {"task": trial.task.id, "candidate": trial.candidate.id})
        note(file, kernel, log(eager.speedup.median))
    versus = tuple(one.beyond(apart) for one in timing.versus)
    return found.model_copy(update={"timing": timing.model_copy(update={"versus": versus, "start_spread": apart})})


def file_of(device: Device) -> Path:
    """Where this machine's record lies."""
    return (
        state_folder()
        / "starts"
        / f"{identity('device', device.model_dump(mode='json', exclude={'memory_gbps'}))}.json"
    )


def spread(file: Path, on_device: bool) -> float:
    """How far one start's log ratio may lie from the truth."""
    return _spread(kept.read(_KEPT, file) or Logs(), USUAL_ON_DEVICE if on_device else USUAL)


def _spread(logs: Logs, usual: float) -> float:
    squares = sum((one - fmean(own)) ** 2 for own in logs.values() for one in own)
    freedom = FREEDOM + sum(len(own) - 1 for own in logs.values())
    return student_t_quantile(0.01, freedom) * sqrt((FREEDOM * usual**2 + squares) / freedom)


def note(file: Path, kernel: str, log_ratio: float) -> None:
    """A final judged this kernel."""
    logs = kept.read(_KEPT, file) or {}
    logs[kernel] = [*logs.pop(kernel, []), log_ratio][-MOST_STARTS:]
    kept.keep(_KEPT, file, dict(list(logs.items())[-MOST_KERNELS:]))
