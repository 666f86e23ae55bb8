"""Plays `regraph` on a table of judged codes, as the engine does: asked and told in order, several requests in flight."""

from collections import deque

from kernelwright.feedback.describe import describe
from kernelwright.records.attempt import Attempt, Cost, Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.technique import apply_step
from kernelwright.reward.table import find_reward
from kernelwright.search.regraph import ReGraphConfig
from kernelwright.search.strategy import Limits
from kernelwright.testing.samples import sample_attempt


class WalkPlayer:
    """One run. `verdict` maps a code to an outcome and a speedup; a step whose change does not fit makes no kernel."""

    def __init__(self, scope, verdict, budget=64, in_flight=1, reward="regraph", **config):
        self.config = ReGraphConfig(**config)
        self.strategy = self.config.make(Limits(proposals=budget, scope=scope))
        self.scope, self.verdict, self.left, self.in_flight = scope, verdict, budget, in_flight
        self.reward = find_reward(reward)
        self.attempts, self.requests = [], []

    def play(self):
        """Until the budget or the graph is at its end; returns the player."""
        flight = deque()
        while True:
            while len(flight) < self.in_flight and self.left > len(flight) and not self.strategy.finished():
                asked = self.strategy.ask(1)
                if not asked:
                    break
                flight.append(asked[0])
                self.requests.append(asked[0])
            if not flight:
                return self
            self.answer(flight.popleft())

    def answer(self, request):
        """Write what the request asks for, judge it, tell and close."""
        self.left -= 1
        source = self.attempts[request.parents[0]].proposal.candidate.source if request.parents else self.scope.root
        made = apply_step(request.steps[0], source, self.scope.sizes) if request.steps else None
        if made is not None:
            attempt = self.attempt(request, made)
            self.attempts.append(attempt)
            reward = self.reward(attempt.evaluation, None, None)
            self.strategy.tell(attempt, describe(attempt, None, None, reward=reward))
        self.strategy.closed(request)

    def attempt(self, request, source):
        """The attempt that the table makes of a source."""
        outcome, speedup = self.verdict(source)
        sample = sample_attempt(len(self.attempts), outcome, speedup)
        candidate = Candidate(language="cpp", source=source, entry="kernel")
        proposal = Proposal(candidate=candidate, technique=request.hint)
        return Attempt(
            number=len(self.attempts),
            proposal_request=request,
            proposal=proposal,
            evaluation=sample.evaluation,
            cost=Cost(),
        )
