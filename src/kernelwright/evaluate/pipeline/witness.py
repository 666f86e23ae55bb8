"""Who looks at every timed result: keeps what will be compared of both sides, and compares it when a round is over.

A result is read while its side stands still, before the next one runs. What is right, `timed_results` says.
"""

from dataclasses import dataclass, field

import torch

from kernelwright.evaluate.pipeline.timed_results import TimedResults
from kernelwright.evaluate.profile.clock import Calls, Entrant
from kernelwright.evaluate.sandbox.contestant import Contestant, Ran
from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.evaluate.session.trial import OutcomeReached, Trial, check_form, wrong
from kernelwright.evaluate.verify.places import Parts


class TimedOutputWrongError(Exception):
    """A result that was timed is not right; str is the evidence."""


@dataclass
class Witness:
    """Looks at every timed result: eager's of the same round says what it should be."""

    trial: Trial
    reference: Contestant
    results: TimedResults
    places: Calls = field(default_factory=list)
    """Where the inputs of the round lie."""
    parts: list[list[Parts]] = field(default_factory=list)
    """What is looked at of every call's outputs: the same of both sides."""
    wanted: list[list[torch.Tensor]] = field(default_factory=list)
    got: list[list[torch.Tensor]] = field(default_factory=list)

    def look(self, entrant: Entrant, ran: Ran) -> None:
        """Keep the parts of a side's results that will be compared.

        Raises:
            OutcomeReached: the candidate's are not of the form that was asked for.
            TamperedError: two of its results share memory, or there is no such memory.
        """
        if "timed_outputs" in self.trial.policy.disabled or entrant.name not in ("eager", "candidate"):
            return
        if entrant.name == "candidate":
            for results in ran.results:
                check_form(self.trial, "timed call", results)
            if "honest_reply" not in self.trial.policy.disabled:
                ran.must_be_disjoint()
            self._must_be_guarded(entrant.contestant, ran)
        if not self.parts:
            outputs = self.trial.session.task.workload.outputs
            # The same of all calls: none of them knew, and each set of places has its price.
            self.parts = [[self.results.parts(o) for o in range(len(outputs))]] * len(ran.results)
        values = [
            [_looked_at(entrant.contestant, f, p) for f, p in zip(call, parts, strict=True)]
            for call, parts in zip(ran.results, self.parts, strict=True)
        ]
        if entrant.name == "eager":
            self.wanted = values
        else:
            self.got = values

    def _must_be_guarded(self, contestant: Contestant, ran: Ran) -> None:
        if "guard" in self.trial.policy.disabled or not contestant.guarded_in_time:
            return
        for i, found in ((i, found) for call in ran.results for i, found in enumerate(call)):
            if not contestant.guards_intact(found):
                evidence = f"wrote before or behind output {i} of {found.numel} elements"
                raise OutcomeReached(wrong(self.trial, "guard", "timed call", evidence))

    def compare(self) -> None:
        """Compare what was kept of one round.

        Raises:
            TimedOutputWrongError: a timed result is not right.
        """
        if self.got and self.results.surely_right(self.got, self.wanted):
            self.got = []
        rows = zip(self.got, self.wanted, self.parts, self.places, strict=False)
        for got, wanted, parts, offsets in rows:
            for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
                found = self.results.wrong(i, g, w, (parts[i], offsets))
                if found is not None:
                    raise TimedOutputWrongError(f"output {i} of a timed call: {found.evidence}")
        self.parts, self.wanted, self.got = [], [], []

    def finish(self) -> None:
        """Compare what only the whole contest tells.

        Raises:
            TimedOutputWrongError: the timed results are not right together.
        """
        found = self.results.finish()
        if found is not None:
            raise TimedOutputWrongError(found.evidence)


def _looked_at(contestant: Contestant, found: Found, parts: Parts) -> torch.Tensor:
    """Some elements of a result, flat; or all of them, in their shape."""
    values = contestant.read_parts(found, parts)
    return values.view(found.shape) if parts == ((0, found.numel),) else values
