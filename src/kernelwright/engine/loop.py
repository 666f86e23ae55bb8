"""The loop: the only function that knows strategy, proposer and evaluator at once.

Expansions run side by side; their attempts are told head of line, and the strategy is asked again only
after a tell. So timing decides how long a search takes and never where it goes.
"""

import asyncio
from collections import deque

from kernelwright.engine.judge import Judge, Swept, sweep
from kernelwright.engine.progress import Progress
from kernelwright.propose.proposer import Brief, Proposer
from kernelwright.records.attempt import Expansion
from kernelwright.search.strategy import Strategy


async def search(strategy: Strategy, proposer: Proposer, judge: Judge, progress: Progress) -> str:
    """Search until the strategy, the budget or the proposer ends it; returns why.

    What is in flight when the search ends is still told: it was paid for.

    Raises:
        ProposeError: the proposer cannot write this task.
        RefereeError: the referee broke; every attempt before it was told.
    """

    async def expand(brief: Brief, expansion: Expansion, allowance_s: float) -> list[Swept]:
        proposals = await progress.proposals(proposer, brief, expansion.count)
        points = progress.config.sweep.points
        return await asyncio.gather(*(sweep(judge, p, points, allowance_s) for p in proposals))

    flight: deque[tuple[Expansion, asyncio.Task[list[Swept]]]] = deque()
    try:
        while True:
            while (expansion := progress.ask(strategy, len(flight))) is not None:
                work = expand(progress.brief(expansion), expansion, progress.ledger.device_s)
                flight.append((expansion, asyncio.create_task(work)))
            if not flight:
                return progress.why(strategy)
            expansion, running = flight[0]
            swept = await running
            flight.popleft()
            for one in swept:
                strategy.tell(*progress.take(expansion, one))
            strategy.closed(expansion)
            progress.settle(expansion, len(swept))
    finally:
        for _, running in flight:
            running.cancel()
        await asyncio.gather(*(running for _, running in flight), judge.close(), return_exceptions=True)
