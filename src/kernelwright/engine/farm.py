"""What the devices that judge are at: of a Ray cluster what its commands' board knows, of this machine the turns."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kernelwright.errors import UsageError
from kernelwright.execution.cluster import Cluster
from kernelwright.execution.executor import Place
from kernelwright.execution.turns import Ticket, queues
from kernelwright.records.base import Record

_KIND = "accelerator_type:"
"""How Ray names the kind of a node's GPUs among its resources."""


class FarmDevice(Record):
    """A GPU, or the processors of one machine."""

    node: str
    """Its host's name or address."""
    kind: str
    holder: str = ""
    """Who has it; empty: no command of this package."""
    busy: bool = False
    """Whether a job is at work on it."""


class FarmCommand(Record):
    """A command that has work for the devices."""

    user: str
    where: str
    """Host and process id, or the process id alone."""
    command: str
    weight: float = 1.0
    """Of its user."""
    workers: int
    share: int | None = None
    """Workers that it may hold now; None: nothing is shared out."""
    at_work: int
    """Jobs that workers have."""
    waiting: int
    tasks: dict[str, int]
    """The jobs that wait, by task."""
    verdicts_a_minute: float | None = None
    workers_lost: int | None = None
    jobs_retried: int | None = None
    """Jobs that lost their worker and were begun again."""


class FarmStatus(Record):
    """Devices, queue, rate, losses and utilisation. None: nobody counts it there."""

    execution: str
    address: str | None
    devices: tuple[FarmDevice, ...]
    commands: tuple[FarmCommand, ...]
    waiting: int
    verdicts_a_minute: float | None = None
    """Of the last five minutes; so the utilisation."""
    utilisation: float | None = None
    """Part of the devices of the kinds in use that was busy, 0 to 1."""
    workers_lost: int | None = None
    jobs_retried: int | None = None


def farm_status(place: Place) -> FarmStatus:
    """What is there now. Nothing is started.

    Raises:
        UsageError: no place is called that, or it is a cluster and nobody says which.
        MachineError: Ray is missing, or the cluster does not answer.
    """
    if place.name == "local":
        return _of_this_machine()
    if place.name != "ray":
        raise UsageError(f"execution {place.name!r} must be local, ray or ray://HEAD:PORT")
    cluster = Cluster(place.address)
    if cluster.address is None:
        raise UsageError("which cluster? Say --ray-address HEAD:6379, or set RAY_ADDRESS")
    cluster.join()
    try:
        return _of_cluster(cluster.address, *cluster.seen())
    finally:
        cluster.leave()


def _of_this_machine() -> FarmStatus:
    found = list(queues())
    devices = [
        FarmDevice(node="here", kind=device, holder=_worker(queue[0]) if queue else "", busy=bool(queue))
        for device, queue in found
    ]
    commands = [_waiter(device, ticket, bool(n)) for device, queue in found for n, ticket in enumerate(queue)]
    waiting = sum(command.waiting for command in commands)
    return FarmStatus(
        execution="local", address=None, devices=tuple(devices), commands=tuple(commands), waiting=waiting
    )


def _worker(ticket: Ticket) -> str:
    return f"worker {ticket.pid}, {ticket.how}"


def _waiter(device: str, ticket: Ticket, waits: bool) -> FarmCommand:
    return FarmCommand(
        user="",
        where=str(ticket.pid),
        command=_worker(ticket),
        workers=int(not waits),
        at_work=int(not waits),
        waiting=int(waits),
        tasks={f"a turn on {device}": 1} if waits else {},
    )


def _of_cluster(address: str, nodes: list[dict[str, Any]], lines: list[dict[str, Any]]) -> FarmStatus:
    devices, reports = [each for node in nodes for each in _devices(node, lines)], [line["report"] for line in lines]
    gpus = {bool(report["gpu"]) for report in reports}
    in_use = sum(_room(node["Resources"], gpu) for node in nodes for gpu in gpus)
    commands = [_command(line) for line in lines]
    return FarmStatus(
        execution="ray",
        address=address,
        devices=tuple(devices),
        commands=tuple(commands),
        waiting=sum(command.waiting for command in commands),
        verdicts_a_minute=round(sum(line["verdicts_a_minute"] for line in lines), 1),
        utilisation=round(min(1.0, sum(line["busy"] for line in lines) / in_use), 3) if in_use else 0.0,
        workers_lost=sum(report["lost"] for report in reports),
        jobs_retried=sum(report["retried"] for report in reports),
    )


def _room(resources: dict[str, float], gpu: bool) -> int:
    return int(resources.get("GPU", 0)) if gpu else int(resources.get("CPU", 0) >= 1)


def _devices(node: dict[str, Any], lines: list[dict[str, Any]]) -> Iterator[FarmDevice]:
    """A node's GPUs, then its processors, those that are held first."""
    has, host = node["Resources"], node["NodeManagerHostname"]
    name = next((key.removeprefix(_KIND) for key in has if key.startswith(_KIND)), "GPU")
    for gpu, kind in ((True, name), (False, f"{has.get('CPU', 0):.0f} processors")):
        held = list(_holders(node["NodeID"], gpu, lines))
        for n in range(max(_room(has, gpu), len(held))):
            holder, busy = held[n] if n < len(held) else ("", False)
            yield FarmDevice(node=host, kind=kind, holder=holder, busy=busy)


def _holders(node: str, gpu: bool, lines: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    for report in (line["report"] for line in lines if line["report"]["gpu"] == gpu):
        busy = report["busy"].get(node, 0)
        for n in range(report["held"].get(node, 0)):
            yield f"{report['user']} {report['where']}", n < busy


def _command(line: dict[str, Any]) -> FarmCommand:
    report, tasks = line["report"], Counter[str]()
    for affinity, count in report["waiting"].items():
        tasks[affinity.rpartition(" ")[0] or "of no task"] += count
    return FarmCommand(
        user=report["user"],
        where=report["where"],
        command=report["command"],
        weight=line["weight"],
        workers=sum(report["held"].values()),
        share=line["most"],
        at_work=report["at_work"],
        waiting=tasks.total(),
        tasks=dict(tasks.most_common()),
        verdicts_a_minute=round(line["verdicts_a_minute"], 1),
        workers_lost=report["lost"],
        jobs_retried=report["retried"],
    )
