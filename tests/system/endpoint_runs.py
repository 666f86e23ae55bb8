"""Whole runs against the drill server over real HTTP: the real client, proposer, desk and store, a scripted referee."""

import asyncio
import functools
import json
import os
import random
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from kernelwright.engine.config import RunConfig
from kernelwright.engine.request import OptimizeResult
from kernelwright.engine.session import play_in
from kernelwright.engine.suppliers import Suppliers
from kernelwright.models import openai_compatible
from kernelwright.models.capability import Capabilities
from kernelwright.models.fault import RetryPolicy
from kernelwright.models.openai_wire import parameters_of
from kernelwright.propose.table import make_proposer
from kernelwright.records.attempt import Attempt
from kernelwright.records.chat import ChatReply, ChatRequest
from kernelwright.records.run import Message, Outcome
from kernelwright.store.run import RunStore, Tell
from kernelwright.testing.samples import sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from mock_llm import MODEL, Faults, MockLLMServer, wire
from mock_llm.faults import TRANSPORT

TASK = sample_task()
LIMITS = ("temperature", "max_tokens", "max_completion_tokens")
"""Parameters that a retry may change, and that an answer shall not depend on."""
LONGEST_WAIT_S = 0.002
"""Between two tries of a hurried client."""
CONTENT = ("undeclared", "wrong_constant", "prose", "refusal", "truncated", "json")
"""What is wrong with every second kernel: prose and refusals make the writer be asked again."""

SCENARIOS = {
    "cudaforge": (24, {"strategy": {"name": "cudaforge"}, "budget": {"proposals": 5}}),
    "fsr": (19, {"strategy": {"name": "fsr", "n": 3, "depth": 2, "repair_limit": 1}, "budget": {"proposals": 9}}),
    "agent": (10, {"strategy": {"name": "tritongym", "workflow": "agent"}, "budget": {"proposals": 4}}),
    "reflective": (12, {"strategy": {"name": "tritongym", "workflow": "reflective"}, "budget": {"proposals": 4}}),
    "frontend_midend": (3, {"strategy": {"name": "frontend_midend"}, "budget": {"proposals": 4}}),
    "direct": (4, {"strategy": {"name": "direct", "n": 4}, "budget": {"proposals": 4}, "in_flight": 2}),
}
"""By name: the seed, and the run's settings. One expansion is in flight where they do not say."""
USABLE = ("wrong_type", "no_usage", "drip")
"""Faults of transport whose answer can be used all the same."""
USELESS = tuple(kind for kind in TRANSPORT if kind not in USABLE)
SIDE_BY_SIDE = ("fsr", "direct")
"""Those with several calls in flight."""


def steady(raw: bytes) -> bytes:
    """A request's body without its limits, and by the model's own name."""
    kept = {name: value for name, value in json.loads(raw).items() if name not in LIMITS}
    return json.dumps(kept | {"model": MODEL}).encode()


class SteadyServer(MockLLMServer):
    """Answers the same question the same, however much room a retry leaves for the reply.

    A client may call the model `drill-1-TAG`; what it asked is kept by the tag.
    """

    def __init__(self, seed: int, faults: Faults, delay_s: float = 0.0) -> None:
        self.asked: dict[str, Counter[str]] = defaultdict(Counter)
        """How often each request came, by the client's tag."""
        self._asked_lock, self._delay_s = Lock(), delay_s
        super().__init__([TASK], seed, faults)

    def reply(self, raw):
        body, tag = steady(raw), json.loads(raw)["model"].removeprefix(MODEL).removeprefix("-")
        with self._asked_lock:
            self.asked[tag][wire.read(body).request] += 1
        self._closing.wait(self._delay_s)
        return super().reply(body)

    @property
    def answers(self) -> Counter[str]:
        """How often each request had an answer that a client can use."""
        return Counter(s.request for s in self.served if s.status == 200 and s.kind not in USELESS)


def asked_as(request: ChatRequest) -> str:
    """The hash by which a steady server knows a journaled request."""
    return wire.read(steady(json.dumps(parameters_of(MODEL, request, Capabilities())).encode())).request


class Referee(ScriptedEvaluator):
    """Each kernel has a speed of its own."""

    def _speedup(self, candidate):
        return 1.0 + 3.0 * random.Random(candidate.id).random()


async def _hurried(seconds):
    await asyncio.sleep(min(seconds, LONGEST_WAIT_S))


def hurried_model(config):
    """The real client, with hardly any wait between two tries."""
    return openai_compatible.open_model(config, RetryPolicy(sleep=_hurried, draw=lambda: 0.5))


BARE = Suppliers(
    model=hurried_model,
    proposer=functools.cache(make_proposer),
    cache=lambda: None,
    wrap=lambda task, candidate, other: candidate.source,
    render=lambda card, attempts, outcome, turns, files: "",
    present=lambda card, attempts, outcome, turns: "",
)
"""Real parts where dialogues are concerned; nothing is rendered."""


def faults_of(**settings) -> Faults:
    """Every second kernel has a fault of content, as in every scenario."""
    return Faults(rate=0.5, kinds=CONTENT, **settings)


def config_of(name: str, base_url: str, tag: str = "", cap: dict | None = None, **model) -> RunConfig:
    """A scenario's configuration; `model` has settings of the model's, `cap` of the budget."""
    seed, settings = SCENARIOS[name]
    called = {"name": f"{MODEL}-{tag}" if tag else MODEL, "base_url": base_url, **model}
    budget = settings["budget"] | (cap or {})
    return RunConfig.model_validate(
        {"in_flight": 1, **settings, "seed": seed, "proposer": "llm", "models": {"default": called}, "budget": budget}
    )


def play(folder: Path, config: RunConfig, suppliers: Suppliers = BARE) -> OptimizeResult:
    """Begin a run in this folder, or go on with it."""
    return asyncio.run(play_in(folder, TASK, config, Referee(seed=config.seed), suppliers))


@dataclass(frozen=True)
class Said:
    """A journaled reply with its request."""

    request: ChatRequest
    reply: ChatReply


@dataclass(frozen=True)
class Found:
    """What a run's folder holds."""

    attempts: list[Attempt]
    tells: list[Tell]
    turns: list[Message]
    outcome: Outcome | None
    spent: dict | None
    """The ledger's last event."""

    @property
    def said(self) -> list[Said]:
        """Every reply, with what was asked."""
        asked, found = {}, []
        for turn in self.turns:
            if turn.kind == "prompt":
                asked[turn.proposal_request, turn.sibling] = ChatRequest.model_validate_json(turn.text)
            elif turn.kind == "reply":
                request = asked[turn.proposal_request, turn.sibling]
                found.append(Said(request, ChatReply.model_validate_json(turn.text)))
        return found

    @property
    def lost(self) -> list[Message]:
        """What was billed and never received whole."""
        return [turn for turn in self.turns if turn.kind == "lost"]

    @property
    def charged(self) -> int:
        """Tokens that count for what was lost."""
        return sum(ChatReply.model_validate_json(turn.text).usage.total for turn in self.lost)

    @property
    def dialogues(self) -> dict:
        """The words of every dialogue: no clock, no count of tokens, and no prompt whose reply was lost on the way."""
        found = defaultdict(list)
        for turn in self.turns:
            said = found[turn.proposal_request, turn.sibling]
            if turn.kind != "lost":
                said.append((len(said), turn.role, turn.kind, turn.prompt, _words(turn)))
            elif said and said[-1][2] == "prompt":  # which was asked again
                said.pop()
        return dict(found)

    @property
    def results(self) -> list:
        """Proposals, what became of them, and how the run ended, without what the calls cost."""
        final = self.outcome.final if self.outcome else None
        ended = (self.outcome.best, self.outcome.stopped, self.outcome.complete, final and _free(final))
        return [*map(_free, self.attempts), self.tells, ended]


def _free(attempt: Attempt) -> Attempt:
    free = {"tokens": 0, "usd": 0.0}
    proposal, cost = attempt.proposal.model_copy(update=free), attempt.cost.model_copy(update=free)
    return attempt.model_copy(update={"proposal": proposal, "cost": cost})


def _words(turn: Message) -> str:
    if turn.kind != "reply":
        return turn.text
    reply = ChatReply.model_validate_json(turn.text)
    return reply.model_dump_json(exclude={"usage", "usd", "seconds"})


def memory() -> str | None:
    """A directory that no disk waits for; None where there is none. For runs whose machine nobody stops."""
    found = Path("/dev/shm")
    return str(found) if os.access(found, os.W_OK) else None


def read(folder: Path) -> Found:
    """What a run's folder holds now."""
    with closing(RunStore.open(folder)) as store:
        spent = [event["spent"] for body in store.events() if (event := json.loads(body))["kind"] == "spent"]
        return Found(store.attempts(), store.tells(), store.messages(), store.outcome(), spent[-1] if spent else None)
