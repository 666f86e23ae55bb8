"""A desk in memory and briefs to write for."""

import json

import pytest

from kernelwright.feedback.describe import describe
from kernelwright.propose.proposer import Brief, NoRoom, RunFacts
from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.chat import ChatMessage, ChatReply, Usage
from kernelwright.records.run import Message
from kernelwright.testing.samples import sample_attempt, sample_profile, sample_task

GOOD = '#include <cmath>\nextern "C" void kernel(const float* x, float* out) {\n  out[0] = std::abs(x[0]);\n}\n'
"""A kernel as a model would write it."""


class FakeGateway:
    """Answers from a script for each role, in order; journals as the engine does."""

    def __init__(self, replies=None, room=None, profile=None):
        self.replies = {role: list(texts) for role, texts in (replies or {}).items()}
        self.room = room
        self.asked = []
        self.notes = []
        self.used = []
        self.logged = []
        self.profiled = []
        self.turns = []
        self.results = {}
        self._profile = profile
        self.proposal_request = 0

    async def ask(self, role, request, sibling=0):
        if self.room is not None:
            if self.room == 0:
                raise NoRoom
            self.room -= 1
        self.asked.append((role, request, sibling))
        self._journal(sibling, role, "prompt", request.model_dump_json())
        reply = self.replies[role].pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            reply = ChatReply(text=reply, model=f"fake-{role}", usage=Usage(prompt=10, completion=5), usd=0.25)
        self._journal(sibling, role, "reply", reply.model_dump_json())
        return reply

    async def use(self, role, call, sibling=0):
        self.used.append(call)
        self._journal(sibling, role, "call", call.model_dump_json())
        answer = self.results.get(call.name, json.dumps({"ok": True}))
        self._journal(sibling, role, "result", answer)
        return answer

    def log(self, role, call, answer, sibling=0):
        self.logged.append((call.name, answer))
        self._journal(sibling, role, "call", call.model_dump_json())
        if answer:
            self._journal(sibling, role, "result", answer)

    async def profile(self, attempt, sibling=0):
        self.profiled.append(attempt)
        return self._profile

    def note(self, role, text, sibling=0):
        self.notes.append((role, text))
        self._journal(sibling, role, "diagnosis", text)

    def recall(self, thread):
        return tuple(t for t in self.turns if (t.proposal_request, t.sibling) == tuple(thread))

    def prompt(self, position=-1):
        """What a model was told last, in the last message."""
        return self.asked[position][1].messages[-1].text

    def _journal(self, sibling, role, kind, text):
        step = len(self.turns)
        turn = Message(
            number=step,
            proposal_request=self.proposal_request,
            sibling=sibling,
            step=step,
            role=role,
            kind=kind,
            text=text,
        )
        self.turns.append(turn)


def fence(source, tag="cpp"):
    return f"```{tag}\n{source}```\n"


@pytest.fixture
def good():
    return GOOD


@pytest.fixture
def gateway():
    """Makes desks."""
    return lambda **parts: FakeGateway(profile=sample_profile(), **parts)


@pytest.fixture
def attempt():
    """Makes attempts whose kernel has a source and a memo."""

    def make(number=0, outcome="measured", source=GOOD, memo="", speedup=2.0) -> Attempt:
        made = sample_attempt(number, outcome, speedup)
        candidate = made.proposal.candidate.model_copy(update={"source": source})
        return made.model_copy(
            update={"proposal": made.proposal.model_copy(update={"candidate": candidate, "memo": memo})}
        )

    return make


@pytest.fixture
def brief():
    """Makes briefs: parents with their feedback, any field of the expansion."""

    def make(*parents, gateway=None, task=None, withheld=False, language=None, number=1, **fields) -> Brief:
        intent = fields.pop("intent", "improve" if parents else "seed")
        proposal_request = ProposalRequest(
            number=number, intent=intent, parents=tuple(p.number for p in parents), **fields
        )
        table = gateway or FakeGateway()
        table.proposal_request = number
        feedback = () if withheld else tuple(describe(p, None, None, reward=0.5) for p in parents)
        run = RunFacts(trials=9, left=9 - len(parents), best=None)
        return Brief(task or sample_task(), proposal_request, parents, feedback, 7, language, table, run)

    return make


@pytest.fixture
def message():
    return lambda role, text: ChatMessage(role=role, text=text)
