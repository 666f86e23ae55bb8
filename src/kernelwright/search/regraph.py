"""regraph: a search over the graph of techniques; each step is written, judged, and its reward passed back.

ReGraphT's Monte Carlo graph search (arXiv 2510.19873, section 3.3) inside the closed loop that surrounds it. Selection
goes down the states that are known, by UCB. The first visit of a state adds all its successors. From there a rollout takes
steps, with probability epsilon any, else the one with the largest Q - penalty * N, until one fails or the cap is reached.
Every step is a proposal request of its own, and its value is the reward; a rollout is worth the largest reward on its way,
which is passed back to Q and N of every step that led there. It also ends at the first step that makes the kernel slower,
which the paper's does not (`losing = "goes on"`): every step costs an evaluation here.

Rewards are scaled to 0 to 1 by the least and the largest seen, on a logarithmic scale above one, because beside speedups of
a hundred the exploration term would mean nothing. The paper takes them as they are (`scale = "raw"`).
"""

import random
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from kernelwright.errors import UsageError
from kernelwright.records.attempt import Attempt, ProposalRequest, speedup
from kernelwright.records.evaluation import failed_to_build
from kernelwright.records.feedback import Feedback
from kernelwright.records.technique import START
from kernelwright.search.edge_weights import EdgeWeights
from kernelwright.search.navigators import NAVIGATORS, Navigator, Rollout, WalkConfig
from kernelwright.search.reading import failure, is_kernel, within, works
from kernelwright.search.strategy import CODER, ExpectedCalls, Limits, Strategy
from kernelwright.search.technique_walk import Action, State, Walk, root_of

NAVIGATOR = "navigator"
"""The role that chooses among several steps."""
FRUITLESS = 400
"""Rollouts in a row without anything new to judge, after which every way is known."""
OFFERED = 8
"""Most steps that a navigator chooses from."""


class ReGraphConfig(WalkConfig):
    """Who finds the way, and how boldly."""

    variant: ClassVar[str] = "navigator"
    reads_reward: ClassVar[bool] = True
    proposer: ClassVar[str] = "graph"

    name: Literal["regraph"] = "regraph"
    navigator: Literal["mcgs", "llm", "random", "enumerate"] = "mcgs"
    """`mcgs` searches, `llm` asks a model at each step, `random` walks, `enumerate` takes the shortest paths first."""
    graph: str = ""
    """A graph file; empty: the one that comes with the package."""
    examples: bool = True
    """Whether writers are shown the edge's example; `false` is the ablation."""
    weights: bool = True
    """Whether what earlier runs learned of the edges leads the way."""
    repairs: int = Field(default=2, ge=0)
    """How often a model may repair what a step has broken, before the walk goes on."""
    seed: int = 0

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """A writer for every step, and a navigator before it where one chooses."""
        calls = ExpectedCalls(role=CODER, calls=self.trials(proposals))
        asked = (ExpectedCalls(role=NAVIGATOR, calls=self.trials(proposals)),) if self.navigator == "llm" else ()
        return (calls, *asked)

    def graph_file(self) -> str | None:
        """See `StrategyConfig.graph_file`."""
        return self.graph

    def make(self, limits: Limits) -> "ReGraph":
        """A fresh strategy."""
        return ReGraph(self, limits)


class ReGraph(Strategy):
    """See the module."""

    def __init__(self, config: ReGraphConfig, limits: Limits) -> None:
        if limits.scope is None:
            raise UsageError(
                "regraph walks a graph of techniques, and none was given: run it through `kernelwright optimize`"
            )
        self._config, self._limits, self._scope = config, limits, limits.scope
        self._walk = Walk(limits.scope, config.examples)
        self.weights = EdgeWeights()
        self._gains = EdgeWeights.of_gains(limits.scope.gains)
        """What the graph's own examples were measured to gain, for edges that no run knows anything of."""
        self._navigator: Navigator = NAVIGATORS[config.navigator](config, random.Random(config.seed))
        self._flight: dict[int, Rollout] = {}
        self._asked = 0
        self._waiting: list[Rollout] = []
        """Rollouts whose last step was judged and which go on."""
        self._broken: list[tuple[Rollout, Attempt]] = []
        """Rollouts whose last step made a wrong kernel that is to be repaired."""
        self._word: dict[int, str] = {}
        """By attempt, what the loop said of it."""
        self._made: list[tuple[Attempt, Feedback]] = []
        self._exhausted = False
        self.best: Attempt | None = None
        self.best_speedup = 1.0
        self._best_way: tuple[str, ...] = ()
        """Edges that led to it."""
        self._follow_best = config.weights and config.navigator == "mcgs"
        """Whether the next rollout follows what led earlier runs to their best."""
        self.said: list[str] = []
        """The loop's feedback, in order."""
        self._root = self._walk.enter(START, root_of(limits.scope)) if limits.scope.root else None

    # --- the search: which kernel is tried next -------------------------------------------------------------------

    def ask(self, room: int) -> Sequence[ProposalRequest]:
        """One step of one rollout; several are in flight together."""
        if room < 1 or self.finished():
            return []
        if self._root is None:
            first = [] if self._asked else [ProposalRequest(number=0, intent="seed", role=CODER)]
            self._asked += len(first)
            return first
        broken = self._broken.pop(0) if self._broken else None
        rollout = broken[0] if broken else self._next_to_judge()
        if rollout is None:
            self._exhausted = not self._flight
            return []
        request = self._repair(*broken) if broken else self._request(rollout)
        self._flight[request.number] = rollout
        self._asked += 1
        return [request]

    def _next_to_judge(self) -> Rollout | None:
        """A rollout that stands before a step which nobody has judged; what is known is walked without asking."""
        assert self._root is not None
        for _ in range(FRUITLESS):
            rollout = self._waiting.pop(0) if self._waiting else Rollout(self._root, self._follow_best)
            self._follow_best = False
            if self._advance(rollout):
                return rollout
        return None

    def _follow(self, rollout: Rollout) -> Action | None:
        """The way that led most runs to their best, for the rollout that begins a run; None: there is none.

        Gone at once where what its steps make is known before it is written: none of them is worth an evaluation alone.
        """
        if not rollout.follows_best:
            return None
        leap = self._walk.leap(rollout.at, self._best_known, self._config.steps) if not rollout.path else None
        action = leap or self._best_known(rollout.at)
        rollout.follows_best = action is not None
        return action

    def _best_known(self, state: State) -> Action | None:
        ways = [action for action in state.actions if action.open and self.weights.best_runs(action.edge)]
        return max(ways, key=lambda action: self.weights.best_runs(action.edge), default=None)

    def _advance(self, rollout: Rollout) -> bool:
        """Walk on to a step that must be judged; False: the rollout is over before one."""
        while len(rollout.path) < self._config.steps:
            action = self._follow(rollout) or self._navigator.choose(rollout, self._prior)
            if action is None:
                break
            rollout.take(action)
            # A step's result may have been judged on another way.
            same = self._walk.codes.get(action.result or "")
            known = action.child or (self._walk.enter(action.technique, same) if same is not None else None)
            if known is None:
                self._walk.begin(action)
                rollout.judged = True
                return True
            action.child = known
            rollout.arrive(known)
        self._back_propagate(rollout)
        return False

    def _request(self, rollout: Rollout) -> ProposalRequest:
        action, state = rollout.path[-1][1], rollout.at
        chosen = self._navigator.offer(rollout)[:OFFERED] or [action]
        several = len(chosen) > 1
        return ProposalRequest(
            number=self._asked,
            intent="apply-technique",
            parents=() if state.attempt is None else (state.attempt,),
            hint="" if several else action.technique,
            role=CODER,
            order=self._word.get(state.attempt, "") if state.attempt is not None else "",
            adviser=NAVIGATOR if several else "",
            steps=tuple(one.step for one in chosen if one.step is not None),
        )

    def _repair(self, rollout: Rollout, attempt: Attempt) -> ProposalRequest:
        """What the step has broken, once more."""
        rollout.repairs += 1
        return ProposalRequest(
            number=self._asked,
            intent="repair",
            parents=(attempt.number,),
            hint=rollout.path[-1][1].technique,
            role=CODER,
            order=self._word.get(attempt.number, ""),
        )

    # --- the update: what the referee said of it ------------------------------------------------------------------

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Keep it until the request is closed."""
        self._made.append((attempt, feedback))

    def closed(self, proposal_request: ProposalRequest) -> None:
        """Say what became of the step, and update the policy of all that led to it."""
        made, self._made = self._made, []
        rollout = self._flight.pop(proposal_request.number, None)
        if rollout is None:
            self._begin(made)
            return
        asked = rollout.path[-1][1]
        action = self._navigator.correct(rollout, made[0][0].proposal.technique if made else "")
        found = made[0] if made and is_kernel(made[0][0]) else None
        if found is not None:
            self._say(found[0])
            if self.best is found[0]:
                self._best_way = tuple(edge for _, step in rollout.path for edge in step.edges)
        wrong = found is None or not works(found[0])
        if found is not None and wrong and self._scope.writer == "model" and rollout.repairs < self._config.repairs:
            rollout.path[-1] = (rollout.path[-1][0], action)
            self._broken.append((rollout, found[0]))
            return
        self._walk.end(asked, failed=False)
        self._walk.end(action, failed=wrong)
        if found is None or wrong:
            rollout.fail(found[1].reward if found else -1.0)
            self.weights.add_failure(action.edge)
            self._back_propagate(rollout)
            return
        action.child = self._walk.enter(action.technique, _state(action.technique, *found))
        rollout.arrive(action.child)
        if self._navigator.goes_on(rollout):
            self._waiting.append(rollout)
        else:
            self._back_propagate(rollout)

    def _begin(self, made: Sequence[tuple[Attempt, Feedback]]) -> None:
        """The first kernel of a task that came as a module is what the walk starts from."""
        first = next(((a, f) for a, f in made if is_kernel(a) and works(a)), None)
        if first is not None:
            self._say(first[0])
            self._root = self._walk.enter(START, _state(START, *first))
        self._exhausted = first is None

    def _say(self, attempt: Attempt) -> None:
        """The closed loop's feedback, word for word, and the best kernel so far."""
        gained = _gain(attempt)
        if failed_to_build(attempt.evaluation):
            log = failure(attempt).removeprefix("does not compile: ")
            self.said.append(f"FAILURE: Compilation failed with error: {log}")
        elif not works(attempt):
            self.said.append("FAILURE: Functionality correctness did not pass check.")
        elif gained > self.best_speedup:
            self.best, self.best_speedup = attempt, gained
            self.said.append(f"SUCCESS: New best kernel found (Speedup: {gained:.2f})")
        else:
            self.said.append(f"MINOR: correct but slower/same speed (Speedup: {gained:.2f})")
        self._word[attempt.number] = self.said[-1]

    def _back_propagate(self, rollout: Rollout) -> None:
        self._navigator.back_propagate(rollout)
        for state, action in rollout.path if rollout.judged else ():
            # Of a leap only the first edge leads on from a kernel whose time is known.
            self.weights.add_gain(action.edges[0], rollout.best_speedup / max(state.speedup, 1e-9))

    def _prior(self, action: Action, state: State) -> float | None:
        """What earlier runs promise of a step, or else the graph's examples, as a reward; None where nothing is known."""
        learned = self.weights.prior(action.edge) if self._config.weights else None
        gain = self._gains.prior(action.edge) if learned is None else learned
        return None if gain is None else state.speedup * gain

    # --- ends and memory ------------------------------------------------------------------------------------------

    def finished(self) -> str | None:
        """The target is met, or every way that the graph offers was gone."""
        if within(self.best, self._limits.target_us):
            return f"{self._words()} The target is met."
        if not self._exhausted:
            return None
        return f"{self._words()} The graph offers no other way{self._further()}."

    def _further(self) -> str:
        """Who may find a way where the graph alone has found none."""
        alone = self.best is None and self._config.navigator != "llm"
        return "; a model may find one: --strategy regraph:llm --model PROVIDER:NAME" if alone else ""

    def _words(self) -> str:
        if self.best is None:
            return f"No kernel is faster than the code as it came, in {len(self.said)} steps."
        return (
            f"Best kernel: speedup {self.best_speedup:.2f}, attempt {self.best.number}, after {len(self.said)} steps."
        )

    def state(self) -> JsonValue:
        """The weights of the edges: what this run began with and what it has learned."""
        return self.weights.dump(self._best_way) if self._config.weights else None

    def restore(self, state: JsonValue) -> None:
        """See `Strategy.restore`."""
        self.weights = EdgeWeights.load(state)


def _state(technique: str, attempt: Attempt, feedback: Feedback) -> State:
    return State(technique, attempt.proposal.candidate.source, attempt.number, feedback.reward, _gain(attempt))


def _gain(attempt: Attempt) -> float:
    """Its speedup over the baseline; what was not timed is taken to be as fast."""
    return speedup(attempt) or 1.0
