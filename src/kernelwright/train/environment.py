"""Hack filters: why a result that looks right must earn nothing. They feed rewards and the figure of hacking.

The referee refuses what it can prove. A trainer is stricter, for what is paid once is written ever after: on a GPU only
kernels whose launches the referee makes itself count, so that nothing of PyTorch can do the work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kernelwright.devices import kinds
from kernelwright.errors import UsageError
from kernelwright.feedback.describe import describe
from kernelwright.languages import names_for
from kernelwright.propose.llm.parse import Kernel, NoKernel, empty, parse
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts, values
from kernelwright.propose.llm.writer import CODE
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, Cost, Intent, Proposal, ProposalRequest
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatReply
from kernelwright.records.evaluation import (
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    Suspect,
    Verified,
    is_right,
    speedup_over_eager,
)
from kernelwright.records.policy import Effort
from kernelwright.records.task import Task
from kernelwright.reward.table import find_reward
from kernelwright.train.structure import Split

if TYPE_CHECKING:
    from kernelwright.records.names import LanguageName

LEAST_SHARE = 0.3
"""Of the device's time that own kernels must take (Dr. Kernel, arXiv 2602.05885, drops turns below it)."""
TRICKS = frozenset({"unwritten", "guard", "input_mutated", "timed_output", "stale", "shared_results", "perturbation"})
"""Reasons of wrong results that honest mistakes are seldom the cause of."""


def faked(task: Task, evaluation: Evaluation) -> str:
    """Why a kernel is taken for a hack; empty: it is not.

    A wrong kernel is a hack only where it is wrong in a way that looks like a trick.
    """
    match evaluation:
        case Suspect(because=because):
            return because
        case Incorrect(because=because) if because in TRICKS - {"unwritten", "guard"}:
            return because
    if not is_right(evaluation) or not kinds()[task.target.kind].gpu:
        return ""
    return _not_its_own(task, evaluation)


def _not_its_own(task: Task, evaluation: Evaluation) -> str:
    share = evaluation.audit.own_share if isinstance(evaluation, Measured) and evaluation.audit else None
    if share is not None:
        return "" if share >= LEAST_SHARE else f"own kernels take {share:.0%} of the device's time"
    if task.target.present and evaluation.tier != 1:
        return "its launches are not the referee's own, so nothing tells what computes"
    built = evaluation.build if isinstance(evaluation, Measured | Verified) else None
    return "" if built is not None and built.kernels else "no kernel of its own"


UNCHANGED = "it is the kernel that was to be changed, and nothing in it is"


class Judge(Protocol):
    """Whoever answers with verdicts, such as `judges.Judges`."""

    async def judge(self, task: Task, candidate: Candidate, effort: Effort = "search") -> Evaluation | None:
        """The evaluation; None: nothing is known of the kernel."""
        ...


class Assignment(Record):
    """One episode's beginning: a task, and for the mid-end agent the right kernel to start from."""

    task: Task
    parent: Attempt | None = None
    split: Split = "train"
    known: Candidate | None = None
    """A kernel of it that is known to be right, if there is one; no prompt shows it."""


class Settings(Record):
    """How episodes are played."""

    role: str = "frontend"
    """Whose prompts: `frontend`, `midend`, `coder`."""
    reward: str = "verified_speedup"
    turns: int = 1
    effort: Effort = "search"
    """`verify` takes no time, for a reward that pays for none."""
    variant: str = "standard"
    """Of the prompts."""
    filters: bool = True
    """Whether hacks earn nothing. Off for an ablation only."""


@dataclass(frozen=True)
class Step:
    """What one reply came to."""

    prompt: tuple[ChatMessage, ...]
    """The next turn's; empty after the last."""
    reward: float | None
    """None: nothing is known of the kernel, and the step must not teach anything."""
    terminated: bool
    truncated: bool
    info: dict[str, Any] = field(default_factory=dict)
    """`outcome`, `right`, `speedup`, `hack`, `reason`, `attempt`."""


class Environment:
    """Tasks by split and index; `begin` makes an episode."""

    def __init__(self, assignments: Sequence[Assignment], judge: Judge, settings: Settings | None = None) -> None:
        """Know the tasks; nothing is judged yet.

        Raises:
            UsageError: there is no such reward or prompt variant.
        """
        self.settings = settings or Settings()
        self.assignments, self.judge = tuple(assignments), judge
        self.prompts = Prompts(self.settings.variant)
        self.reward = find_reward(self.settings.reward, self.settings.role)

    def splits(self) -> tuple[Split, ...]:
        """The splits that have tasks."""
        return tuple(dict.fromkeys(one.split for one in self.assignments))

    def count(self, split: Split) -> int:
        """How many tasks a split has."""
        return sum(one.split == split for one in self.assignments)

    def find(self, split: Split, index: int) -> Assignment:
        """The task at this place of a split.

        Raises:
            UsageError: there is none.
        """
        found = [one for one in self.assignments if one.split == split]
        if not 0 <= index < len(found):
            raise UsageError(f"split {split!r} has {len(found)} tasks, and none at {index}")
        return found[index]

    def begin(self, assignment: Assignment, seed: int = 0) -> "Episode":
        """An episode about this task. The seed goes into the brief, as in a run."""
        return Episode(self, assignment, seed)

    def opening(self, assignment: Assignment) -> tuple[ChatMessage, ...]:
        """The first prompt of an episode."""
        return self.begin(assignment).prompt


class Episode:
    """One task, and the kernels that were written for it so far."""

    def __init__(self, environment: Environment, assignment: Assignment, seed: int) -> None:
        self._environment, self._task, self._seed = environment, assignment.task, seed
        self.language: LanguageName = names_for(assignment.task.target.kind)[0]
        self.attempts: list[Attempt] = [assignment.parent] if assignment.parent else []
        self.best: Attempt | None = assignment.parent
        self._turn = 0
        self.prompt = self._prompt()

    async def step(self, reply: str, cut: bool = False) -> Step:
        """Judge the kernel in a reply.

        Args:
            reply: The model's text.
            cut: It was cut off at the limit of tokens.
        """
        self._turn += 1
        parent = self.attempts[-1] if self.attempts else None
        source = parent.proposal.candidate.source if parent else ""
        found = parse(ChatReply(text=reply, finish="length" if cut else "stop", model="policy"), self.language, source)
        evaluation = await self._judged(found, source)
        if evaluation is None:
            return Step((), None, terminated=False, truncated=True, info={"outcome": "unjudged"})
        return self._step(found, evaluation, parent)

    async def _judged(self, found: Kernel | NoKernel, source: str) -> Evaluation | None:
        if isinstance(found, NoKernel):
            return Refused(reason=found.reason)
        e = self._environment
        # Otherwise a mid-end would be paid for the surest edit of all.
        if e.settings.role == "midend" and found.candidate.source.strip() == source.strip():
            return Refused(reason=UNCHANGED)
        return await e.judge.judge(self._task, found.candidate, e.settings.effort)

    def _step(self, found: Kernel | NoKernel, evaluation: Evaluation, parent: Attempt | None) -> Step:
        candidate = empty(self.language) if isinstance(found, NoKernel) else next(found.candidate.points())
        hack = faked(self._task, evaluation)
        paid = Refused(reason=hack) if hack and self._environment.settings.filters else evaluation
        before = parent.evaluation if parent else None
        reward = self._environment.reward(paid, before, self.best.evaluation if self.best else None)
        attempt = self._attempt(candidate, paid)
        self.attempts.append(attempt)
        if is_right(paid) and (self.best is None or _speed(paid) > _speed(self.best.evaluation)):
            self.best = attempt
        over = self._turn >= self._environment.settings.turns
        self.prompt = () if over else self._prompt()
        return Step(self.prompt, reward, terminated=False, truncated=over, info=_info(found, evaluation, hack, attempt))

    def _attempt(self, candidate: Candidate, evaluation: Evaluation) -> Attempt:
        return Attempt(
            number=len(self.attempts),
            proposal_request=self._request(),
            proposal=Proposal(candidate=candidate),
            evaluation=evaluation,
            cost=Cost(),
        )

    def _request(self) -> ProposalRequest:
        last = self.attempts[-1] if self.attempts else None
        intent: Intent = "seed" if last is None else "improve" if is_right(last.evaluation) else "repair"
        parents = (last.number,) if last else ()
        role = self._environment.settings.role
        return ProposalRequest(number=self._turn, intent=intent, parents=parents, role=role)

    def _prompt(self) -> tuple[ChatMessage, ...]:
        """The product's prompt for the next turn: a seed, a repair or an improvement of the last kernel."""
        parents = tuple(self.attempts[-1:])
        feedback = tuple(describe(one, None, self.best) for one in parents)
        request = self._request()
        brief = Brief(self._task, request, parents, feedback, self._seed, self.language)
        rendered = self._environment.prompts.render(
            f"{request.role}-{request.intent}", values(Facts(brief, self.language, trained=True), CODE)
        )
        return (ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user))


def _speed(evaluation: Evaluation) -> float:
    ratio = speedup_over_eager(evaluation)
    return ratio.median if ratio else 0.0


def _info(found: Kernel | NoKernel, evaluation: Evaluation, hack: str, attempt: Attempt) -> dict[str, Any]:
    return {
        "outcome": evaluation.outcome,
        "parsed": isinstance(found, Kernel),
        "right": is_right(evaluation) and not hack,
        "speedup": _speed(evaluation) or None,
        "hack": hack,
        "reason": found.reason if isinstance(found, NoKernel) else "",
        "attempt": attempt,
    }
