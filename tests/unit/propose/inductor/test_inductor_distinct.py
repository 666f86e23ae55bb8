"""The proposer `inductor` does not repeat itself while another of PyTorch's settings writes another kernel."""

import asyncio

from kernelwright.propose.inductor import inductor
from kernelwright.propose.proposer import Brief, RunFacts
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.candidate import Candidate
from kernelwright.records.lowering import Lowering
from kernelwright.testing.samples import sample_task


class Gateway:
    """Lowers, and counts how often it was asked."""

    asked = 0

    async def lower(self, options):
        self.asked += 1
        return Lowering(text="loops")


def propose(monkeypatch, written, tried, count=1):
    """The sources for this many proposals, where each setting writes what `written` makes of it."""
    monkeypatch.setattr(
        inductor, "write", lambda task, lowering, schedule: Candidate(language="cpp", source=written(schedule))
    )
    request, gateway = ProposalRequest(number=1, intent="seed", count=count), Gateway()
    run = RunFacts(tried=frozenset(Candidate(language="cpp", source=text).kernel_id for text in tried))
    brief = Brief(sample_task(), request, (), (), seed=0, gateway=gateway, run=run)
    made = asyncio.run(inductor.Inductor().propose(brief))
    return [one.candidate.source for one in made], gateway.asked


def test_it_goes_on_to_another_setting_where_the_kernel_was_tried(monkeypatch):
    first, _ = propose(monkeypatch, repr, ())
    second, _ = propose(monkeypatch, repr, first)
    assert second != first


def test_siblings_differ(monkeypatch):
    sources, _ = propose(monkeypatch, repr, (), count=3)
    assert len(set(sources)) == 3


def test_it_repeats_itself_after_a_few_settings_that_mean_nothing(monkeypatch):
    sources, asked = propose(monkeypatch, lambda schedule: "the same", ("the same",))
    assert sources == ["the same"]
    assert asked == inductor.TRIES
