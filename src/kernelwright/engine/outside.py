"""Opens workbenches: a new run whose kernels come from outside, or one that was left.

Decides what must hold before such a run begins or goes on. Refuses to know what is done with it.
"""

from pathlib import Path

from kernelwright.engine.config import RunConfig, wished
from kernelwright.engine.events import Phase
from kernelwright.engine.identity import config_of, must_fit, new_card
from kernelwright.engine.mailbox import Mailbox
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.run import Parts
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.engine.workbench import OUTSIDE, Bench, WindUp, Workbench
from kernelwright.errors import UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.store.run import RunStore
from kernelwright.tasks.table import read_task


async def open_bench(what: OptimizeRequest | Path, suppliers: Suppliers, wind_up: WindUp) -> Workbench:
    """A workbench for a new run, or for the run of a folder.

    Raises:
        KernelwrightError: as `begin` and `go_on`.
    """
    if isinstance(what, OptimizeRequest):
        return await begin(what, suppliers, wind_up)
    return await go_on(what, suppliers, wind_up)


async def begin(request: OptimizeRequest, suppliers: Suppliers, wind_up: WindUp) -> Workbench:
    """A workbench for a new run.

    Raises:
        KernelwrightError: the run could not begin, or its folder cannot be written.
    """
    source = read_task(request.task)
    config = wished(request.config, source.limits)
    target = resolve_target(request.target or source.limits.arch or None, config.place)
    evaluator = suppliers.open_evaluator(config.policy, config.place)
    try:
        suppliers.listener(Phase(text=f"admitting {source.name} on {target.name}"))
        task = await evaluator.admit(source, target)
        card = new_card(task, await evaluator.environment(), config)
        store = RunStore.create(request.runs / card.id, card)
        return Workbench(_bench(store, config, evaluator, suppliers, wind_up))
    except BaseException:
        await evaluator.close()
        raise


async def go_on(folder: Path, suppliers: Suppliers, wind_up: WindUp) -> Workbench:
    """A workbench for a run that was left. One that is over is only summed up.

    Raises:
        UsageError: the run is one of another kind.
        StoreError: there is no such run, or it cannot go on here.
    """
    store = RunStore.open(folder, writing=True)
    try:
        config = config_of(store.card)
        if config.proposer != OUTSIDE:
            raise UsageError(f"run {store.card.id} writes its own kernels: go on with `kernelwright resume {folder}`")
        evaluator = suppliers.open_evaluator(config.policy, config.place)
        try:
            suppliers.listener(Phase(text=f"admitting {store.card.task.name} again"))
            task = await evaluator.admit(store.card.task.source, store.card.task.target)
            must_fit(store.card, task, await evaluator.environment())
            return Workbench(_bench(store, config, evaluator, suppliers, wind_up))
        except BaseException:
            await evaluator.close()
            raise
    except BaseException:
        store.close()
        raise


def _bench(store: RunStore, config: RunConfig, evaluator: Evaluator, suppliers: Suppliers, wind_up: WindUp) -> Bench:
    cache = suppliers.cache() if config.cache else None
    parts = Parts(Mailbox(), evaluator, suppliers.listener, cache=cache)
    return Bench(store, config, parts, wind_up, suppliers.library)
