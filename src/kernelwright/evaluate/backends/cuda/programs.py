"""Programs that were built of late: a kernel that is verified, then timed, then profiled is compiled once.

Nothing of a candidate's can change what lies here: a program is bytes and plans that its builder's process answered with.
"""

from collections import OrderedDict
from threading import Lock

from kernelwright.evaluate.languages.artifact import Program
from kernelwright.evaluate.session.trial import Trial

MOST = 32
"""A program with many settings takes some megabytes."""
Key = tuple[str, str, int, bool]


class Programs:
    """The latest, by task, candidate and what else a build depends on."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, Program] = OrderedDict()
        self._lock = Lock()

    def known(self, key: Key) -> Program | None:
        """The program, if it is kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: Key, program: Program) -> None:
        """Keep it, and let the one go that was not asked for longest."""
        with self._lock:
            self._kept[key] = program
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)


def key_of(trial: Trial) -> Key:
    """What a trial's program depends on."""
    return (trial.task.id, trial.candidate.id, trial.policy.tune_points, "capture" not in trial.policy.disabled)
