"""Memory: what a strategy learned in earlier runs, lent to a run as it begins and added to as it ends.

The state that a run began with stands in its own journal, and its hash on the card. So a resumed run asks the same again
even where other runs have learned more since.
"""

from pathlib import Path

from kernelwright.engine.config import RunConfig
from kernelwright.errors import StoreError
from kernelwright.records.run import RunCard, state_id
from kernelwright.search.strategy import Limits, Strategy
from kernelwright.store.run import RunStore
from kernelwright.store.strategy_state import StateKey, StrategyStates


def create_run(folder: Path, card: RunCard, config: RunConfig, states: StrategyStates | None) -> RunStore:
    """A new run that begins with what its strategy learned before.

    Raises:
        StoreError: the folder holds a run already or cannot be written, or the states cannot be read.
    """
    state = states.read(state_key(card, config)) if states is not None else None
    return RunStore.create(folder, card.model_copy(update={"state": state_id(state)}), state)


def fresh_strategy(store: RunStore, config: RunConfig) -> Strategy:
    """The run's strategy as it stood when the run began.

    Raises:
        StoreError: the journal's state is not the card's.
        UsageError: the state is of another version of the strategy.
    """
    strategy = config.strategy.make(Limits(proposals=config.budget.proposals, target_us=config.target_us))
    state = store.state()
    if state is not None:
        strategy.restore(state)
    return strategy


def remember(strategy: Strategy, store: RunStore, config: RunConfig, states: StrategyStates) -> str | None:
    """Merge what a complete run has learned; returns what went wrong, which is no reason to lose the run."""
    ended, begun = strategy.state(), store.state()
    if ended is None:
        return None
    try:
        states.merge(state_key(store.card, config), store.card.id, lambda held: strategy.merge(held, begun, ended))
    except StoreError as error:
        return f"later runs will not know what this one learned: {error}"
    return None


def state_key(card: RunCard, config: RunConfig) -> StateKey:
    """What the state of a run is about: its strategy, its device, and what its task computes."""
    target = card.task.target
    device = card.environment.device.name if target.present else target.arch
    return StateKey(config.strategy.name, device, card.task.graph.family)
