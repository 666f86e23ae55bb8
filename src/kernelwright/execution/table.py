"""Where jobs can be done, by name. To add a place: write its Executor in a file of its own, and a line here."""

from collections.abc import Callable
from dataclasses import replace

from kernelwright.errors import UsageError
from kernelwright.execution.executor import Executor, Place, Work
from kernelwright.execution.local import LocalExecutor
from kernelwright.execution.ray import RayExecutor

VISIBLE = "CUDA_VISIBLE_DEVICES"
EXECUTORS: dict[str, Callable[[Work, str | None], Executor]] = {
    "local": lambda work, address: LocalExecutor(work),
    "ray": RayExecutor,
}
"""Makes an executor from its work and the cluster's address."""


def make_executor(place: Place, work: Work) -> Executor:
    """The executor of that place; nothing is started before its first job.

    Raises:
        UsageError: no place is called that, or this one has no address, or no GPUs to name.
    """
    if place.name not in EXECUTORS:
        raise UsageError(f"execution {place.name!r} must be one of {', '.join(EXECUTORS)}")
    if place.name == "local" and place.address is not None:
        raise UsageError(f"the address {place.address!r} is of a Ray cluster: add --execution ray")
    if place.gpus and place.name != "local":
        raise UsageError(f"GPU {place.gpus} is named, and {place.name} hands its GPUs out itself: leave it out")
    seen = {VISIBLE: place.gpus} if place.gpus else {}
    return EXECUTORS[place.name](replace(work, environment={**work.environment, **seen}), place.address)
