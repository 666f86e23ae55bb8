"""Budget: what a run may spend, and the ledger of what it spent.

Three parts count: the engine counts proposals (a proposer that repeats itself must still stop), the referee's
evaluations count device seconds, and the models count tokens and money. Each attempt carries what it was charged.
"""

from pydantic import Field

from kernelwright.records.attempt import Cost
from kernelwright.records.base import Record
from kernelwright.search.strategy import PROPOSALS


class Budget(Record):
    """Upper bounds; None: unlimited. Checked before each proposal request, so what is in flight may go beyond.

    Tokens and money are checked before each call besides (`engine/gateway/models.py`), and hold.
    """

    proposals: int = Field(default=PROPOSALS, ge=1)
    """Where a run's configuration names no number: as many as its strategy needs."""
    device_s: float | None = Field(default=None, gt=0)
    """Seconds of the referee's evaluations, all stages."""
    tokens: int | None = Field(default=None, gt=0)
    """Of all models, prompts and replies."""
    usd: float | None = Field(default=None, gt=0)
    wall_s: float | None = Field(default=None, gt=0)
    """Seconds of a search on the wall's clock, each time that it is begun or resumed; calls and evaluations in flight end
    with it. The final follows."""


class BudgetAccount:
    """What was spent, in the order in which attempts were told, and what is still reserved."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent = Cost(proposals=0)
        self._reserved = 0
        self._closed = ""

    @property
    def room(self) -> int:
        """Proposals that may still be asked for."""
        return max(0, self.budget.proposals - self.spent.proposals - self._reserved)

    @property
    def device_s(self) -> float:
        """Device seconds left; infinite where the budget names none."""
        return float("inf") if self.budget.device_s is None else self.budget.device_s - self.spent.device_s

    def reserve(self, proposals: int) -> None:
        """Set proposals aside for a proposal request that is about to start."""
        self._reserved += proposals

    def charge(self, cost: Cost) -> None:
        """Book what one attempt cost."""
        self.spent = self.spent.plus(cost)

    def end_request(self, reserved: int, made: int, unbooked: Cost | None = None) -> None:
        """End a proposal request: what it did not use is free again, but an empty answer costs one proposal.

        `unbooked` is what it cost beside its attempts.
        """
        self._reserved -= reserved
        if made == 0:
            self.charge(Cost())
        if unbooked is not None:
            self.charge(unbooked)

    def close(self) -> None:
        """A call to a model did not fit into what is left of tokens or money."""
        caps = ((self.budget.tokens, "tokens"), (self.budget.usd, "US dollars"))
        named = " and ".join(f"{cap:g} {unit}" for cap, unit in caps if cap is not None)
        self._closed = f"The budget of {named} has no room for another call."

    def exhausted(self) -> str | None:
        """Which limit ends the search; None while there is room."""
        limits = (
            (self.spent.proposals, self.budget.proposals, "proposals"),
            (self.spent.device_s, self.budget.device_s, "device seconds"),
            (self.spent.tokens, self.budget.tokens, "tokens"),
            (self.spent.usd, self.budget.usd, "US dollars"),
        )
        spent = (f"The budget of {limit:g} {unit} is spent." for used, limit, unit in limits
                 if limit is not None and used >= limit)  # fmt: skip
        return next(spent, None) or self._closed or None
