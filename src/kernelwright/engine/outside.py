"""Opens workbenches: a new run whose kernels come from outside, or one that was left."""

from pathlib import Path

from kernelwright.engine.opening import config_of, open_card, readmit, settle
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.workbench import OUTSIDE, WindUp, Workbench
from kernelwright.errors import UsageError
from kernelwright.store.run import RunStore


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
    settled = settle(request)
    evaluator = suppliers.open_evaluator(settled.config.policy, settled.config.place)
    try:
        card = await open_card(settled, evaluator, suppliers.listener)
        store = RunStore.create(request.runs / card.id, card)
        return Workbench(store, settled.config, evaluator, suppliers, wind_up)
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
            raise UsageError(
                f"run {store.card.id} writes its own kernels: continue it with `kernelwright resume {folder}`"
            )
        evaluator = suppliers.open_evaluator(config.policy, config.place)
        try:
            await readmit(store.card, evaluator, suppliers.listener)
            return Workbench(store, config, evaluator, suppliers, wind_up)
        except BaseException:
            await evaluator.close()
            raise
    except BaseException:
        store.close()
        raise
