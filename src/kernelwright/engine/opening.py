"""Opening a run: what its request settles, and the task as the referee admits it, for the first time or again."""

from typing import NamedTuple

from kernelwright.engine.config import RunConfig, wished
from kernelwright.engine.events import Listener, Phase
from kernelwright.engine.identity import must_fit, new_card
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.run import RunCard
from kernelwright.records.task import Target, TaskSource
from kernelwright.tasks.table import read_task


class Settled(NamedTuple):
    """What a request comes to once its task file is read: the file's own limits and chip are part of it."""

    source: TaskSource
    config: RunConfig
    target: Target


def settle(request: OptimizeRequest) -> Settled:
    """Read the task, and settle the configuration and the target by it.

    Raises:
        KernelwrightError: the file holds no task, or the target is unknown or absent.
    """
    source = request.task if isinstance(request.task, TaskSource) else read_task(request.task)
    config = wished(request.config, source.limits)
    return Settled(source, config, resolve_target(request.target or source.limits.arch or None, config.place))


async def open_card(settled: Settled, evaluator: Evaluator, listener: Listener) -> RunCard:
    """Have the task admitted, and write the card of a run that begins now.

    Raises:
        KernelwrightError: the task is not fit, or the machine is not.
    """
    listener(Phase(text=f"admitting {settled.source.name} on {settled.target.name}"))
    task = await evaluator.admit(settled.source, settled.target)
    return new_card(task, await evaluator.environment(), settled.config)


async def readmit(card: RunCard, evaluator: Evaluator, listener: Listener) -> None:
    """Have a stored run's task admitted again.

    Raises:
        StoreError: the run cannot go on here.
        KernelwrightError: the task is not fit any more, or the machine is not.
    """
    listener(Phase(text=f"admitting {card.task.name} again"))
    task = await evaluator.admit(card.task.source, card.task.target)
    must_fit(card, task, await evaluator.environment())
