"""Progress: a run's state between two steps of the loop, a function of the evaluations alone.

Everything that could depend on timing is kept out: attempts are numbered, charged and told in the
order of their proposal requests, and budgets look only at what was told. So an interrupted run that is
resumed goes through the very same states.

A proposer is told its brief. In the control arm it sees its first parent's source, and nothing that would reveal the
parent's fate (not even the intent, the role or the best parent).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernelwright.engine.budget import BudgetAccount
from kernelwright.engine.cached_evaluator import Tuned
from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Asked, Judged, NewBest, Proposed, Spent, Warned
from kernelwright.engine.gateway.run_gateway import GatewayParts, RunGateway
from kernelwright.engine.journal import Journal
from kernelwright.engine.predictor import Build, Predictor, rank, ranking_row
from kernelwright.feedback.describe import describe
from kernelwright.propose.proposer import BareGateway, Brief, Proposer, RunFacts
from kernelwright.records.answer import busy
from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest, is_blurred
from kernelwright.records.base import identity
from kernelwright.records.evaluation import Measured, Refused, is_right, merit
from kernelwright.records.feedback import Feedback
from kernelwright.records.measure import BaselineName, Yardstick
from kernelwright.records.reasons import reason_of
from kernelwright.records.run import Environment, Message, TuningEntry, unbooked
from kernelwright.records.task import Task
from kernelwright.reward.table import find_reward
from kernelwright.search.strategy import Strategy

BUSY = "this machine is busy: {}. The figures of this run are doubtful, and what is too uncertain is not claimed"
INTERRUPTED = "Interrupted."
RANKING = -1
"""Where a ranking stands among a proposal request's dialogues: it is about all siblings."""


@dataclass(frozen=True)
class Aids:
    """What helps a run and need not be there."""

    environment: Environment | None = None
    """The run's device and versions, for prompts."""

    predictor: Predictor | None = None
    build: Build | None = None
    """What the predictor is told of the compiler's facts; None: nothing."""
    gateway_parts: Callable[[Sequence[Attempt]], GatewayParts] | None = None
    """Where models and tools are asked; it is given the run's attempts, as they grow."""
    yardstick: Yardstick | None = None
    """What kernels are held against, as the run's card has it; None: it was not measured before the run."""
    tuned: TuningEntry | None = None
    """The schedule that the run's card says is tried first."""


class Progress:
    """Attempts so far, what they taught, what they cost."""

    def __init__(self, task: Task, config: RunConfig, journal: Journal, aids: Aids | None = None) -> None:
        self.config = config
        self.account = BudgetAccount(config.budget)
        self.attempts: list[Attempt] = []
        self.best: Attempt | None = None
        self._task = task
        self._journal = journal
        self._aids = aids or Aids()
        self._parts = self._aids.gateway_parts(self.attempts) if self._aids.gateway_parts else None
        self._feedback: list[Feedback] = []
        self._first_with: dict[str, int] = {}
        self._paid: set[str] = set()
        self._warned_of_load = False
        self._under_way: defaultdict[int, list[str]] = defaultdict(list)
        """Kernels without an attempt, by proposal request."""

    def ask(self, strategy: Strategy, flying: int) -> ProposalRequest | None:
        """The next proposal request; None while there is no room, or nothing to ask for."""
        if flying >= self.config.in_flight or self.account.room == 0 or self._over(strategy):
            return None
        asked = strategy.ask(1)
        if not asked:
            return None
        proposal_request = asked[0].model_copy(update={"count": min(asked[0].count, self.account.room)})
        self.account.reserve(proposal_request.count)
        self._under_way[proposal_request.number] = ["one that was being written"]
        replayed = self._journal.asked(proposal_request)
        self._journal.emit(Asked(proposal_request=proposal_request, replayed=replayed))
        return proposal_request

    def brief(self, proposal_request: ProposalRequest) -> Brief:
        """What the proposer gets to read."""
        brief = make_brief(self._task, proposal_request, self.config.seed, self.attempts, self._feedback)
        gateway = RunGateway(self._parts, proposal_request.number) if self._parts else BareGateway()
        facts = run_facts(self.config, self.account.spent.proposals, self.best)
        tried = frozenset(attempt.proposal.candidate.kernel_id for attempt in self.attempts)
        facts = replace(facts, yardstick=completed(self._aids.yardstick, yardstick(self.attempts)), tried=tried)
        environment, tuned = self._aids.environment, self._aids.tuned
        brief = replace(
            brief, language=self.config.language, gateway=gateway, run=facts, environment=environment, tuned=tuned
        )
        return withhold(brief, self._aids.yardstick) if self.config.withhold_feedback else brief

    async def proposals(self, proposer: Proposer, brief: Brief, count: int) -> tuple[Proposal, ...]:
        """The answer to a proposal request: the recorded one, or the proposer's, journaled.

        Raises:
            ProposeError: the proposer cannot write this task.
        """
        number = brief.proposal_request.number
        known = self._journal.proposals(number)
        made = known if known is not None else await self._propose(proposer, brief, count)
        notes = tuple(proposal.note for proposal in made)
        self._under_way[number] = list(notes)
        self._journal.emit(Proposed(proposal_request=number, notes=notes, replayed=known is not None))
        return made

    async def _propose(self, proposer: Proposer, brief: Brief, count: int) -> tuple[Proposal, ...]:
        ranks = self.config.predictor if self._aids.predictor else None
        more = brief.proposal_request.model_copy(
            update={"count": ranks.asked(brief.proposal_request) if ranks else count}
        )
        made = tuple(await proposer.propose(replace(brief, proposal_request=more)))
        if self._aids.predictor is not None and len(made) > 1:
            made = await self._ranked(self._aids.predictor, brief.proposal_request, made)
        made = made[:count]
        self._journal.proposed(brief.proposal_request.number, made)
        return made

    async def _ranked(
        self, predictor: Predictor, proposal_request: ProposalRequest, made: tuple[Proposal, ...]
    ) -> tuple[Proposal, ...]:
        """Most promising first; the scores are journaled with the compiler's time, and what is dropped with its source."""
        known = frozenset(a.proposal.candidate.id for a in self.attempts)
        ranked = await rank(predictor, self._task, made, self._aids.build, known)
        message = Message(
            number=self._journal.messages,
            proposal_request=proposal_request.number,
            sibling=RANKING,
            role="predictor",
            kind="diagnosis",
            text=json.dumps([ranking_row(one, dropped=at >= proposal_request.count) for at, one in enumerate(ranked)]),
            device_s=sum(r.seconds for r in ranked),
        )
        self._journal.say(message)
        return tuple(r.proposal for r in ranked)

    def take(self, proposal_request: ProposalRequest, tuned: Tuned) -> tuple[Attempt, Feedback]:
        """Make the next attempt of a swept proposal; journal it with its reward before the strategy is told."""
        attempt = self._attempt(proposal_request, tuned)
        del self._under_way[proposal_request.number][:1]
        parent = self.attempts[proposal_request.parents[0]] if proposal_request.parents else None
        replayed = self._journal.attempted(attempt)
        before, best = (one.evaluation if one is not None else None for one in (parent, self.best))
        reward = find_reward(self.config.reward, proposal_request.role)(attempt.evaluation, before, best)
        self._journal.record_reward(attempt.number, reward)
        feedback = describe(attempt, parent, self.best, self.config.target_us, reward)
        self.attempts.append(attempt)
        self._feedback.append(feedback)
        self.account.charge(attempt.cost)
        if self._aids.predictor is not None:
            self._aids.predictor.learn(self._task, attempt, reward)
        self._tell(attempt, feedback, replayed)
        return attempt, feedback

    def end_request(self, proposal_request: ProposalRequest, made: int) -> None:
        """End a proposal request that yielded `made` attempts, and book what its dialogues cost beside them."""
        said = self._journal.said(proposal_request.number)
        booked = [a.cost for a in self.attempts[len(self.attempts) - made :]]
        self.account.end_request(proposal_request.count, made, unbooked(said, booked) if said else None)
        if any(message.kind == "no_room" for message in said):
            self.account.close()

    def interrupted(self) -> str:
        """That it was, and which kernels were under way then."""
        left = "; ".join(note or "one without a name" for notes in self._under_way.values() for note in notes)
        return f"{INTERRUPTED} Not judged to the end: {left}." if left else INTERRUPTED

    def why(self, strategy: Strategy) -> str:
        """Why nothing is in flight and nothing is asked for."""
        return self._over(strategy) or "Nothing is left to ask for or to propose."

    def _over(self, strategy: Strategy) -> str | None:
        return strategy.finished() or self.account.exhausted()

    def _attempt(self, proposal_request: ProposalRequest, tuned: Tuned) -> Attempt:
        number, key = len(self.attempts), tuned.verdict.key
        unpaid = {one.key: one.evaluation.paid_seconds for one in tuned.tried if one.key not in self._paid}
        self._paid |= unpaid.keys()
        first = self._first_with.setdefault(key, number)
        proposal = tuned.proposal
        cost = Cost(device_s=sum(unpaid.values()), tokens=proposal.tokens, usd=proposal.usd)
        return Attempt(
            number=number,
            proposal_request=proposal_request,
            proposal=proposal,
            evaluation=tuned.verdict.evaluation,
            known=first if first != number else None,
            tuned=len(tuned.tried) if len(tuned.tried) > 1 else 0,
            settings=tuned.settings,
            cost=cost,
        )

    def _tell(self, attempt: Attempt, feedback: Feedback, replayed: bool) -> None:
        found = attempt.evaluation
        self._journal.emit(
            Judged(
                attempt=attempt.number,
                outcome=found.outcome,
                feedback=feedback,
                reason=reason_of(found),
                latency_us=attempt.latency_us,
                versus=found.timing.versus if isinstance(found, Measured) else (),
                known=attempt.known,
                cached_from=found.cached_from,
                writer=attempt.proposal.writer,
                replayed=replayed,
            )
        )
        if is_right(found) and (self.best is None or merit(found) > merit(self.best.evaluation)):
            self.best = attempt
            # One that nobody can be sure of is measured again at the end where there is no other, and announced by nobody.
            if not is_blurred(attempt):
                self._journal.emit(NewBest(attempt=attempt.number, replayed=replayed))
        load = busy(found)
        if load is not None and not self._warned_of_load:
            self._warned_of_load = True
            self._journal.emit(Warned(text=BUSY.format(load.words), replayed=replayed))
        self._journal.emit(Spent(spent=self.account.spent, budget=self.config.budget, replayed=replayed))


WITHHELD = "withheld"
"""The reason on the stand-in evaluation of a parent whose fate is not told."""


def make_brief(
    task: Task, proposal_request: ProposalRequest, seed: int, attempts: Sequence[Attempt], feedback: Sequence[Feedback]
) -> Brief:
    """The parents of a proposal request with what they taught."""
    return Brief(
        task=task,
        proposal_request=proposal_request,
        parents=tuple(attempts[number] for number in proposal_request.parents),
        feedback=tuple(feedback[number] for number in proposal_request.parents),
        seed=request_seed(seed, proposal_request.number),
    )


def run_facts(config: RunConfig, spent: int, best: Attempt | None) -> RunFacts:
    """How a run stands that has told `spent` proposals."""
    trials = config.strategy.trials(config.budget.proposals)
    return RunFacts(trials, max(0, trials - spent), best.number if best is not None else None)


def yardstick(attempts: Sequence[Attempt]) -> Yardstick | None:
    """What the first kernel that was timed told of its baselines and of the tolerance."""
    found = next((a.evaluation for a in attempts if isinstance(a.evaluation, Measured)), None)
    if found is None:
        return None
    latency = found.timing.latency_us
    times: dict[BaselineName, float] = {
        v.baseline: latency * v.speedup.median for v in found.timing.versus if not v.speedup.blurred
    }
    strictest = min(found.accuracy.cases, key=lambda case: case.allowed, default=None)
    return Yardstick(times_us=times, strictest=strictest, floor_us=found.roofline.floor_us)


def completed(known: Yardstick | None, later: Yardstick | None) -> Yardstick | None:
    """What was measured before the run, so that every prompt tells the same; what it lacks, from the first timed kernel."""
    if known is None or later is None:
        return known or later
    return Yardstick(
        times_us={**later.times_us, **known.times_us},
        floor_us=later.floor_us if known.floor_us is None else known.floor_us,
        strictest=known.strictest or later.strictest,
    )


def request_seed(seed: int, proposal_request: int) -> int:
    """A seed of 64 bits from the run's seed and the proposal request's number."""
    return int(identity("seed", {"run": seed, "expansion": proposal_request}), 16)


def withhold(brief: Brief, known: Yardstick | None = None) -> Brief:
    """The same brief without a trace of how the parents fared; `known` was measured before there was any."""
    parents = brief.parents[:1]
    proposal_request = brief.proposal_request.model_copy(
        update={
            "intent": "improve" if parents else brief.proposal_request.intent,
            "parents": brief.proposal_request.parents[:1],
            "hint": "",
            "adviser": "",
            "look_up": False,
            "role": ProposalRequest.model_fields["role"].default,
        }
    )
    blank = tuple(_blank(parent) for parent in parents)
    run = replace(brief.run, best=None, yardstick=known)
    return replace(brief, proposal_request=proposal_request, parents=blank, feedback=(), run=run)


def _blank(parent: Attempt) -> Attempt:
    """The parent's source, at its default tunables, with an evaluation that says nothing."""
    candidate = parent.proposal.candidate
    if parent.tuned > 1:
        candidate = candidate.model_copy(update={"defines": ()})
    return Attempt(
        number=parent.number,
        proposal_request=parent.proposal_request.model_copy(update={"intent": "seed", "parents": (), "hint": ""}),
        proposal=parent.proposal.model_copy(update={"candidate": candidate}),
        evaluation=Refused(reason=WITHHELD),
        cost=Cost(),
    )
