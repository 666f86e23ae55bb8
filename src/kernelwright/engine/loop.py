"""The loop: the one function that calls strategy, proposer and evaluator together.

Proposal requests run side by side; their attempts are told head of line, and the strategy is asked again only
after a tell. So timing decides how long a search takes and never where it goes.
"""

import asyncio
from collections import deque

from kernelwright.engine.cached_evaluator import CachedEvaluator, Tuned, autotune, confirmed
from kernelwright.engine.progress import Progress
from kernelwright.propose.proposer import Brief, Proposer
from kernelwright.records.attempt import ProposalRequest
from kernelwright.search.strategy import Strategy


async def search(strategy: Strategy, proposer: Proposer, judge: CachedEvaluator, progress: Progress) -> str:
    """Search until the strategy, the budget or the proposer ends it; returns why.

    What is in flight when the search ends is still told: it was paid for.

    Raises:
        ProposeError: the proposer cannot write this task.
        RefereeError: the referee broke; every attempt before it was told.
    """

    async def expand(
        brief: Brief, proposal_request: ProposalRequest, allowance_s: float, best_us: float | None
    ) -> list[Tuned]:
        proposals = await progress.proposals(proposer, brief, proposal_request.count)
        points = progress.config.autotune.points
        return await asyncio.gather(*(autotune(judge, p, points, allowance_s, best_us) for p in proposals))

    flight: deque[tuple[ProposalRequest, asyncio.Task[list[Tuned]]]] = deque()
    try:
        while True:
            while (proposal_request := progress.ask(strategy, len(flight))) is not None:
                best_us = progress.best.latency_us if progress.best is not None else None
                work = expand(progress.brief(proposal_request), proposal_request, progress.account.device_s, best_us)
                flight.append((proposal_request, asyncio.create_task(work)))
            if not flight:
                return progress.why(strategy)
            proposal_request, running = flight[0]
            tuned = await running
            flight.popleft()
            for one in tuned:
                here = await confirmed(judge, one, progress.best, progress.config.remeasurement.enabled)
                strategy.tell(*progress.take(proposal_request, here))
            strategy.closed(proposal_request)
            progress.end_request(proposal_request, len(tuned))
    finally:
        for _, running in flight:
            running.cancel()
        await asyncio.gather(*(running for _, running in flight), judge.close(), return_exceptions=True)
