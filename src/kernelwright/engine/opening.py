"""Opening a run: what its request settles, its task as the referee admits it, its card, and whether a stored one can go on."""

import secrets
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from kernelwright.engine.config import AUTHOR, INDUCTOR, Remeasurement, RunConfig, complete_config
from kernelwright.engine.events import Listener, Phase
from kernelwright.engine.graph_scope import graph_id, must_lead_somewhere
from kernelwright.engine.replay_comparison import changes
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.target import resolve_target
from kernelwright.errors import StoreError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.languages import language, names_for
from kernelwright.models.config import is_loopback
from kernelwright.models.small import LANGUAGE
from kernelwright.models.small import NAME as SMALL
from kernelwright.propose.proposer import Informed, Proposer, Selective
from kernelwright.propose.team import TOGETHER
from kernelwright.records.base import complaint
from kernelwright.records.measure import Yardstick
from kernelwright.records.run import Environment, RunCard
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.addresses import unknown
from kernelwright.tasks.table import read_task


class ResolvedRequest(NamedTuple):
    """What a request comes to once its task file is read: the file's own limits and chip are part of it."""

    source: TaskSource
    config: RunConfig
    target: Target


def resolve_request(request: OptimizeRequest) -> ResolvedRequest:
    """Read the task, and settle the configuration and the target by it.

    Raises:
        KernelwrightError: the file holds no task, or the target is unknown or absent.
    """
    source = request.task if isinstance(request.task, TaskSource) else read_task(request.task)
    target = resolve_target(request.target or source.limits.arch or None, request.config.place)
    config = complete_config(request.config, source.limits, target)
    must_agree(config, target)
    return ResolvedRequest(source, config, target)


def must_agree(config: RunConfig, target: Target) -> None:
    """Settings that contradict each other are a mistake, and none of them is ignored in silence.

    Raises:
        UsageError: two settings contradict each other, or one the target.
    """
    takes, budget, kept = names_for(target.kind), config.budget, config.remeasurement
    alone = {*config.proposer.split(TOGETHER)} <= {AUTHOR, INDUCTOR}
    if config.language is not None and config.language not in takes:
        conflict = (
            f"--language {config.language} and --target {target.name} contradict each other: {target.name} takes "
        )
        raise UsageError(f"{conflict}{' or '.join(takes)}")
    if any(model.name == SMALL for model in config.models.values()) and (config.language or takes[0]) != LANGUAGE:
        raise UsageError(
            f"model {SMALL} writes {LANGUAGE} and nothing else, and {target.name} takes {' or '.join(takes)}: name a GPU's "
            "architecture, such as --target sm_90 (where there is none, kernels are compiled and verified, not timed)"
        )
    if alone and config.models:
        raise UsageError(
            f"--model and --proposers {config.proposer} contradict each other: these ask no model; leave one out"
        )
    if alone and (budget.usd is not None or budget.tokens is not None):
        raise UsageError(
            "--max-usd and --max-tokens cap what models cost, and no model is named: name one with --model, or leave them "
            "out (--budget and --device-seconds limit the search)"
        )
    if kept.keep_slower and kept.min_speedup != Remeasurement().min_speedup:
        raise UsageError("--min-speedup and --keep-slower contradict each other: leave one of them out")
    if config.ray_address is not None and config.execution != "ray":
        raise UsageError("--ray-address is of a Ray cluster: add --execution ray, or leave it out")


async def open_card(resolved: ResolvedRequest, evaluator: Evaluator, listener: Listener, proposer: Proposer) -> RunCard:
    """Have the task admitted, and write the card of a run that begins now.

    A proposer that cannot write the task says so before anything is measured, and before the run has a folder.

    Raises:
        KernelwrightError: the task is not fit, or the machine is not, or the proposer is not.
    """
    _say_language(resolved, listener)
    listener(Phase(text=f"admitting {resolved.source.name} on {resolved.target.name}"))
    task = await evaluator.admit(resolved.source, resolved.target)
    if isinstance(proposer, Selective):
        proposer.refuse(task, resolved.config.language)
    here = await evaluator.environment()
    must_lead_somewhere(task, here, resolved.config)
    return new_card(task, here, resolved.config, await measured_yardstick(task, evaluator, proposer))


async def measured_yardstick(task: Task, evaluator: Evaluator, proposer: Proposer) -> Yardstick | None:
    """What kernels are held against, for a proposer that shows it."""
    return await evaluator.yardstick(task, proposer.held_against) if isinstance(proposer, Informed) else None


def _say_language(resolved: ResolvedRequest, listener: Listener) -> None:
    """Where the strategy's system decided what is written, say so, and how to have another language."""
    config, usual = resolved.config, names_for(resolved.target.kind)[0]
    own = config.strategy.languages.get(resolved.target.kind)
    if own is not None and config.language == own != usual:
        listener(
            Phase(
                text=f"writing {language(own).title}, as {config.strategy.name}'s system does; "
                f"for {language(usual).title}: --language {usual}"
            )
        )


async def readmit(card: RunCard, evaluator: Evaluator, listener: Listener) -> None:
    """Have a stored run's task admitted again.

    Raises:
        StoreError: the run cannot go on here.
        KernelwrightError: the task is not fit any more, or the machine is not.
    """
    listener(Phase(text=f"admitting {card.task.name} again"))
    task = await evaluator.admit(card.task.source, card.task.target)
    must_fit(card, task, await evaluator.environment())


def new_card(task: Task, environment: Environment, config: RunConfig, yardstick: Yardstick | None = None) -> RunCard:
    """The card of a run that begins now. Its id sorts by time and names the task."""
    now = datetime.now(UTC)
    return RunCard(
        id=f"{now:%Y%m%d-%H%M%S}-{task.name}-{secrets.token_hex(2)}",
        created=now.isoformat(timespec="seconds"),
        task=task,
        environment=environment,
        config=config.model_copy(update={"graph_id": graph_id(config)}).model_dump(mode="json"),
        yardstick=yardstick,
    )


def config_of(card: RunCard) -> RunConfig:
    """The configuration that a run was begun with.

    Raises:
        StoreError: this version cannot read it.
    """
    try:
        return RunConfig.model_validate(card.config)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise StoreError(
            f"run {card.id} has a configuration of another version ({where}: {complaint(fault)}): "
            "use the version that began the run, or start a new one"
        ) from None


def trusted_config(card: RunCard) -> RunConfig:
    """The configuration of a run that goes on here, wherever its folder comes from.

    Raises:
        StoreError: as `config_of`; or it switches defences off, or sends keys or kernels where no run of this user's has.
    """
    config = config_of(card)
    if config.policy.disabled:
        raise StoreError(
            f"run {card.id} was begun with defences switched off ({', '.join(config.policy.disabled)}): nothing of it is "
            "run here; start a new run"
        )
    if new := unknown(places_of(config)):
        raise StoreError(
            f"run {card.id} would send keys or kernels to {', '.join(new)}, where no run of yours has begun: if the folder is "
            "not yours, leave it; else begin a run there, and this one goes on"
        )
    return config


def places_of(config: RunConfig) -> list[str]:
    """Where a run sends keys and kernels, but for this machine and the usual endpoints with their usual keys."""
    asked = [
        f"{model.base_url or model.provider} with the key in {model.key_variable or 'the usual variable'}"
        for model in config.models.values()
        if (model.base_url and not is_loopback(model.base_url)) or (model.key_variable and not model.base_url)
    ]
    return [*asked, *([f"Ray at {config.place.address}"] if config.place.address else [])]


def same_environment(card: RunCard, here: Environment) -> None:
    """Figures of two machines or two compilers do not belong in one run.

    Raises:
        StoreError: the device or a version is another one.
    """
    changed = [f"{c.name} was {c.then}, is {c.now}" for c in changes(card.environment, here)]
    if changed:
        raise StoreError(
            f"run {card.id} cannot go on under other circumstances ({'; '.join(changed)}): "
            "restore them, or start a new run"
        )


def must_fit(card: RunCard, task: Task, here: Environment) -> None:
    """A run goes on only with the task that it was begun with, and under the same circumstances.

    Raises:
        StoreError: one of them is another.
    """
    same_environment(card, here)
    if task.id != card.task.id:
        raise StoreError(f"run {card.id}: the task is admitted differently now; start a new run")
