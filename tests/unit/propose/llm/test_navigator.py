"""The role that chooses among the steps of a graph: what it is shown, which answers count, and who stands in."""

import asyncio

import pytest

from kernelwright.propose.gateway import BareGateway, NoRoom
from kernelwright.propose.graph_writer import GraphWriter
from kernelwright.propose.llm.navigator import chosen, named
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest, WorkedStep
from kernelwright.records.chat import ChatReply
from kernelwright.testing.samples import sample_task

NAMES = ["loop-unrolling", "simd-reduction", "cache-blocking"]


class Answers(BareGateway):
    """Says one thing to whoever asks."""

    def __init__(self, text):
        self.text, self.asked, self.notes = text, [], []

    async def ask(self, role, request, sibling=0):
        self.asked.append((role, request))
        if self.text is None:
            raise NoRoom
        return ChatReply(text=self.text, model="m")

    def note(self, role, text, sibling=0):
        self.notes.append(text)


def step(name, before="old\n", after="new\n"):
    return WorkedStep(
        technique=name, think=f"why {name}", language="cpp", before=before, after=after, effect="faster: 2.00"
    )


def brief(gateway, *steps, adviser="navigator"):
    task = sample_task()
    task = task.model_copy(update={"source": task.source.model_copy(update={"serial": "old\n"})})
    request = ProposalRequest(
        number=0, intent="apply-technique", adviser=adviser, steps=steps, hint="" if adviser else "x"
    )
    return Brief(task, request, (), (), 0, "cpp", gateway)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"technique": "simd-reduction"}', "simd-reduction"),
        ('I think.\n```json\n{"technique": "cache-blocking"}\n```', "cache-blocking"),
        ("Not loop-unrolling, take simd-reduction.", "simd-reduction"),
        ('{"technique": "magic"} or {"technique": "loop-unrolling"}', "loop-unrolling"),
        ('{"technique": "magic"}', ""),
        ("", ""),
        ("{broken", ""),
    ],
)
def test_which_technique_an_answer_names(text, name):
    assert named(text, NAMES) == name


def test_the_model_sees_every_step_and_its_choice_is_taken():
    gateway = Answers('{"technique": "cache-blocking"}')
    found = asyncio.run(chosen(brief(gateway, *map(step, NAMES))))
    assert found.technique == "cache-blocking"
    ((role, request),) = gateway.asked
    shown = request.messages[-1].text
    assert role == "navigator"
    assert all(f"`{name}`: why {name} Elsewhere: faster: 2.00." in shown for name in NAMES)
    assert gateway.notes == ["takes cache-blocking"]


@pytest.mark.parametrize("text", ["nonsense", None])
def test_the_first_step_stands_in_for_a_useless_answer_and_for_an_empty_purse(text):
    assert asyncio.run(chosen(brief(Answers(text), *map(step, NAMES)))).technique == NAMES[0]


def test_nobody_is_asked_where_there_is_one_way():
    gateway = Answers("")
    assert asyncio.run(chosen(brief(gateway, step("a-b")))).technique == "a-b"
    assert gateway.asked == []


def test_the_graphs_own_writer_carries_the_change_over_and_says_which_step_it_took():
    kernel = 'extern "C" void kernel(const float* x, float* y) {}\n'
    (made,) = asyncio.run(GraphWriter().propose(brief(Answers(""), step("a-b", after=kernel), adviser="")))
    assert (made.candidate.source, made.technique) == (kernel, "a-b")


def test_a_change_that_does_not_fit_makes_no_proposal():
    made = asyncio.run(GraphWriter().propose(brief(Answers(""), step("a-b", before="something else\n"), adviser="")))
    assert made == []
