"""What a run takes from the tuning cache as it begins, and leaves there as it ends."""

from kernelwright.engine.config import RunConfig
from kernelwright.errors import StoreError
from kernelwright.propose.proposer import Proposer, Tuning
from kernelwright.records.attempt import Attempt, is_blurred, sure_speedup
from kernelwright.records.run import RunCard
from kernelwright.records.tuning import TuningEntry, TuningKey
from kernelwright.store.tuning import TuningCache


def recalled(card: RunCard, config: RunConfig, proposer: Proposer, cache: TuningCache | None) -> RunCard:
    """The card with the schedule that is tried first, where one is known."""
    key = _key(card, config, proposer)
    if cache is None or key is None or config.withhold_feedback:
        return card
    return card.model_copy(update={"tuned": cache.find(card.environment.device.name, key)})


def left_behind(
    card: RunCard, config: RunConfig, proposer: Proposer, best: Attempt | None, cache: TuningCache
) -> str | None:
    """Keep the schedule that won, if a clock says so; returns what went wrong, which is no reason to lose the run."""
    key = _key(card, config, proposer)
    if best is None or key is None or is_blurred(best) or sure_speedup(best) <= 1.0:
        return None
    schedule = proposer.schedule_of(best) if isinstance(proposer, Tuning) else None
    if schedule is None:
        return None
    chosen = {define.name.lower(): define.value for define in best.proposal.candidate.defines}
    entry = TuningEntry(
        key=key,
        device=card.environment.device.name,
        schedule=schedule | {name: value for name, value in chosen.items() if name in schedule},
        speedup=sure_speedup(best),
        task=card.task.name,
        run=card.id,
    )
    try:
        cache.keep(entry)
    except StoreError as error:
        return f"later runs will not try this schedule first: {error}"
    return None


def _key(card: RunCard, config: RunConfig, proposer: Proposer) -> TuningKey | None:
    """What a schedule would be good for; None where nothing is timed, or the run keeps to itself."""
    if not (config.cache and card.task.target.present and isinstance(proposer, Tuning)):
        return None
    return proposer.tuning_key(card.task, config.language)
