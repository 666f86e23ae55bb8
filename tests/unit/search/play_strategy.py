"""Plays a strategy without an engine: answers are words, such as `measured 2`, `incorrect`, `crashed@compile`, `empty`.

`measured 2 as 0` is the candidate of attempt 0, met again; `empty` is an answer without a kernel, which the referee refuses.
"""

import json
from pathlib import Path

from pydantic import TypeAdapter

from kernelwright.feedback.describe import describe
from kernelwright.records.candidate import Candidate
from kernelwright.reward.table import find_reward
from kernelwright.search.strategy import Limits
from kernelwright.search.table import AnyStrategy
from kernelwright.testing.samples import sample_attempt
from technique_graphs import cube, scope

CONFIG = TypeAdapter(AnyStrategy)
SCOPE = scope(cube("alpha"), writer="model")
"""For strategies that walk a graph: from the serial code to `base`, and on to `alpha`."""
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))
TRACES = {path.stem: json.loads(path.read_text()) for path in GOLDEN}
"""What each strategy asks after which outcomes, and with which configuration."""


class Player:
    """One strategy, one expansion at a time, with the engine's ledger."""

    def __init__(self, config, **limits):
        limits = Limits(**({"proposals": 12, "scope": SCOPE} | limits))
        self.strategy = CONFIG.validate_python(config).make(limits)
        self.room = limits.proposals
        self.attempts, self.asked = [], []

    def ask(self):
        """The next expansion; None when there is none. It may not ask for more than the budget has."""
        found = self.strategy.ask(1) if self.room and not self.strategy.finished() else []
        if not found:
            return None
        assert found[0].count <= self.room
        self.asked.append(found[0])
        return found[0]

    def answer(self, *words):
        """Tell what came of the last expansion, then close it."""
        proposal_request = self.asked[-1]
        for word in words:
            attempt = self._attempt(proposal_request, word)
            self.attempts.append(attempt)
            self.strategy.tell(attempt, feedback_of(attempt))
        self.strategy.closed(proposal_request)
        self.room -= max(1, len(words))

    def play(self, *answers):
        """Ask and answer in turn; returns what was asked after the last answer."""
        for words in answers:
            assert self.ask() is not None
            self.answer(*([words] if isinstance(words, str) else words))
        return self.ask()

    def _attempt(self, proposal_request, word):
        fate, _, twin = word.partition(" as ")
        outcome, _, speedup = fate.partition(" ")
        outcome, _, stage = outcome.partition("@")
        number, empty = len(self.attempts), outcome == "empty"
        made = sample_attempt(number, "refused" if empty else outcome, float(speedup or 2.0))
        source = self.attempts[int(twin)].proposal.candidate.source if twin else f"// {number}\n"
        candidate = Candidate(language="cpp", source="" if empty else source, entry="kernel")
        evaluation = made.evaluation.model_copy(update={"stage": stage}) if stage else made.evaluation
        proposal = made.proposal.model_copy(update={"candidate": candidate})
        known = int(twin) if twin else None
        new = {"proposal_request": proposal_request, "proposal": proposal, "evaluation": evaluation, "known": known}
        return made.model_copy(update=new)


def feedback_of(attempt):
    """What the engine would tell beside it."""
    return describe(attempt, None, None, reward=find_reward("tritongym")(attempt.evaluation, None, None))
