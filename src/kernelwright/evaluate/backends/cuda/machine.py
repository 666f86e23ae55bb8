"""The GPU under the referee: children that wait ready, what candidates may do, where headers are."""

from collections import OrderedDict
from pathlib import Path
from threading import Lock

import torch

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.backends.host import Host, headers
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import PrewarmedPool
from kernelwright.evaluate.session.trial import Trial
from kernelwright.knowledge.hardware import Hardware, hardware
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
    return (trial.task.id, candidate.id, candidate.tunables, policy.tune_points, policy.defences.capture)


def _nbytes(program: Program) -> int:
    return sum(map(len, program.modules))


LAUNCHER_JAIL = Jail(directory="/", memory_bytes=1 << 40)
"""No program is started there: the code arrives compiled."""
USER = {"USER": "kernelwright"}
"""What torch.compile inside a candidate names its cache by; its real user has no name."""
GPU_JAIL = Jail(directory="/", may_execute=True, memory_bytes=1 << 40, tmpfs_bytes=1 << 30, environment=USER)


class CudaMachine:
    """The GPU's own part of what its trials share: ready children, jails, headers."""

    def __init__(self, host: Host) -> None:
        self.host, self.warm = host, host.warm
        self.programs = Programs()
        self._prewarmed: dict[str, PrewarmedPool] = {}
        self._headers: Path | None = None

    @property
    def hardware(self) -> Hardware:
        """The architecture's facts, with those of the very device."""
        found = torch.cuda.get_device_properties(0)
        update = {
            "device": found.name,
            "multiprocessors": found.multi_processor_count,
            "cache_bytes": found.L2_cache_size,
        }
        return hardware(f"sm_{found.major}{found.minor}").model_copy(update=update)

    def prewarmed(self, side: str) -> PrewarmedPool:
        """Children of this kind that wait for work, `launcher` or `cuda`, with what each may do."""
        if side not in self._prewarmed:
            jail = LAUNCHER_JAIL if side == "launcher" else self.host_jail(())
            self._prewarmed[side] = PrewarmedPool(self.warm, side, jail)
        return self._prewarmed[side]

    def settle(self) -> None:
        """Wait until no child is being born: it would disturb the clock."""
        for waiting in self._prewarmed.values():
            waiting.settle()

    def headers(self) -> Path:
        """Torch's headers, precompiled for candidates that build extensions: once for a machine, most of a minute."""
        if self._headers is None:
            self._headers = headers()
        return self._headers

    def extension_jail(self, off: tuple[str, ...]) -> Jail:
        """For a candidate that builds an extension when it is imported."""
        root = toolkit.toolkit()
        seen = (*toolkit.include_directories(), *([str(root)] if root else []), str(self.headers()))
        return self.host_jail(off).model_copy(update={"readable": seen})

    def host_jail(self, off: tuple[str, ...]) -> Jail:
        """For a candidate's own host code, less the parts that a test switched off."""
        return GPU_JAIL.model_copy(update={"off": off})

    def close(self) -> None:
        """End the waiting children."""
        for waiting in self._prewarmed.values():
            waiting.close()
