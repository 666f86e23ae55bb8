"""The mailbox: the proposer whose kernels come from outside the run, each with somebody who waits for the verdict."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.tools import EvaluateResult

Verdict = asyncio.Future[EvaluateResult]


class _Letter(NamedTuple):
    proposals: tuple[Proposal, ...]
    verdict: Verdict | None = None


class Mailbox:
    """Implements `Proposer`: answers an expansion with the next letter, however long that takes to come."""

    def __init__(self) -> None:
        self._letters: asyncio.Queue[_Letter] = asyncio.Queue()
        self._taken: _Letter | None = None

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """See `Proposer.propose`. Nothing comes back once the mailbox was shut: whoever wrote is done."""
        self._taken = await self._letters.get()
        return self._taken.proposals

    def post(self, proposal: Proposal) -> Verdict:
        """Send a kernel; what comes back is set once it was judged."""
        verdict: Verdict = asyncio.get_running_loop().create_future()
        self._letters.put_nowait(_Letter((proposal,), verdict))
        return verdict

    def shut(self) -> None:
        """Nothing more will come."""
        self._letters.put_nowait(_Letter(()))

    def judged(self, result: EvaluateResult) -> None:
        """Tell whoever sent the letter that was taken last. Nobody did where a resumed run goes on with a recorded one."""
        letter, self._taken = self._taken, None
        if letter is not None and letter.verdict is not None and not letter.verdict.done():
            letter.verdict.set_result(result)
