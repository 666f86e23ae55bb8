"""Seeds: where a session's secret seeds come from, and what is revealed of them afterwards.

A seed is the operating system's unless it is replayed from a receipt. A session asks for its seeds in an order that
depends on the task, the policy and the device's memory alone, so that the seeds of a verdict, in that order, give the
very same cases again.
"""

import secrets
from collections.abc import Sequence

SEED_BITS = 62


class Seeds:
    """The seeds of one set of cases, in the order in which they were asked for.

    `secret`: only a test of this defence has them count from zero.
    """

    def __init__(self, replayed: Sequence[int] = (), secret: bool = True) -> None:
        self._replayed, self._secret = tuple(replayed), secret
        self._used: list[int] = []
        self.revealed = False
        """Told to somebody: nothing that was drawn from them is a secret any more."""

    def new(self) -> int:
        """The next seed: the receipt's while there are any, secret ones after them."""
        count = len(self._used)
        seed = secrets.randbits(SEED_BITS) if self._secret else count
        if count < len(self._replayed):
            seed = self._replayed[count]
        self._used.append(seed)
        return seed

    @property
    def stale(self) -> bool:
        """Whether the cases may not judge any other candidate: their seeds are known outside."""
        return self.revealed or bool(self._replayed)

    def reveal(self) -> tuple[int, ...]:
        """All seeds that were used, in order. From now on the cases that they gave are stale."""
        self.revealed = True
        return tuple(self._used)
