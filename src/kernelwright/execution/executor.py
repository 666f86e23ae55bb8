"""The Executor protocol: a job in, its result out, wherever it is done. Job and result are bytes.

`execution.local` implements it with a worker on this machine, `execution.ray` with workers on a Ray cluster;
`execution.table` chooses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Note = Callable[[str], None]
"""Called with what a job is doing."""

IN_FLIGHT = 8
"""Jobs that one worker is given at once: while one has the device, the others compile, or wait."""


def unheard(_: str) -> None:
    """A Note that ignores what it is told."""


@dataclass(frozen=True)
class Work:
    """How a worker is started, and what it needs for itself."""

    arguments: Sequence[str]
    """Arguments for the Python interpreter; the number of a socket, which speaks `channel`, is added."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment."""
    gpu: bool = False
    """Whether each worker has a GPU of its own; otherwise it has the node's processors."""
    greeting: bytes = b""
    """A job that all workers of one executor must answer alike: results of unlike ones do not compare."""


@dataclass(frozen=True)
class Place:
    """Where jobs are done: a name in `execution.table`, and a cluster's address."""

    name: str = "local"
    address: str | None = None
    """None: the cluster that RAY_ADDRESS names; without it, one is started on this machine."""
    gpus: str = ""
    """GPUs of this machine that a local worker sees, as CUDA_VISIBLE_DEVICES has it; empty: those that this process sees."""


def place_of(execution: str, address: str | None = None) -> Place:
    """The place of that spelling: a name, or one with the address of a cluster's head, `ray://HEAD:PORT`."""
    name, _, head = execution.partition("://")
    return Place(name, address or head or None)


class Executor(Protocol):
    """Runs jobs, several at a time. Every job that is submitted is answered once, or its caller is told why not.

    Cancelling a job affects only that job. A worker that dies takes no job with it: those in flight are done
    again, each of them alone, so that the one that kills workers is found out and the others go on.
    """

    async def submit(self, job: bytes, on_note: Note = unheard, affinity: str = "") -> bytes:
        """The job's result. Jobs of one affinity are faster at a worker that has met the affinity before.

        Raises:
            RefereeError: the job ended its worker, also when it was alone there; or there is no worker at all.
            MachineError: what runs the workers is missing or does not answer.
        """
        ...

    async def close(self) -> None:
        """End the workers and the jobs that they are doing."""
        ...
