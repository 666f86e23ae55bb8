"""Programs that were built of late: a kernel that is verified, then timed, then profiled is compiled once.

Nothing of a candidate's can change what lies here: a program is bytes and plans that its builder's process answered with.
"""

from collections import OrderedDict
from threading import Lock

from kernelwright.evaluate.languages.artifact import Program
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.candidate import Tunable

MOST, MOST_BYTES = 32, 256 << 20
"""Programs, and bytes of their binaries together."""
Key = tuple[str, str, tuple[Tunable, ...], int, bool]


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
            while len(self._kept) > MOST or sum(map(_nbytes, self._kept.values())) > MOST_BYTES:
                self._kept.popitem(last=False)


def key_of(trial: Trial) -> Key:
    """What a trial's program depends on."""
    candidate, policy = trial.candidate, trial.policy
    return (trial.task.id, candidate.id, candidate.tunables, policy.tune_points, "capture" not in policy.disabled)


def _nbytes(program: Program) -> int:
    return sum(map(len, program.modules))
