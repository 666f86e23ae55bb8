"""What a new run is called, and whether a stored one can go on here."""

import secrets
from datetime import UTC, datetime

from pydantic import ValidationError

from kernelwright.engine.circumstances import changes
from kernelwright.engine.config import RunConfig
from kernelwright.errors import StoreError
from kernelwright.records.run import Environment, RunCard
from kernelwright.records.task import Task


def new_card(task: Task, environment: Environment, config: RunConfig) -> RunCard:
    """The card of a run that begins now. Its id sorts by time and names the task."""
    now = datetime.now(UTC)
    return RunCard(
        id=f"{now:%Y%m%d-%H%M%S}-{task.name}-{secrets.token_hex(2)}",
        created=now.isoformat(timespec="seconds"),
        task=task,
        environment=environment,
        config=config.model_dump(mode="json"),
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
            f"run {card.id} has a configuration of another version ({where}: {fault['msg']}): "
            "use the version that began the run, or start a new one"
        ) from None


def same_circumstances(card: RunCard, here: Environment) -> None:
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
    same_circumstances(card, here)
    if task.id != card.task.id:
        raise StoreError(f"run {card.id}: the task is admitted differently now; start a new run")
