"""The states that a walk over the graph of techniques has seen, and the steps that lead on from each.

A state is a technique, the one applied last, and a code. Two ways that end in the same code after the same technique
end in one state; the same code under another technique is judged once all the same. What a step would make of a code is
known before it is written where an example's change fits, so that a transposition costs no evaluation.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from kernelwright.nests.rewritings import REWRITINGS, WRITTEN, Rewritten, rewritten
from kernelwright.records.attempt import WorkedStep
from kernelwright.records.technique import START, Edge, GraphScope, StepExample, apply_step, code_id

WRONG = frozenset({"refused", "build_failed", "crashed", "timed_out", "incorrect", "suspect"})
_KERNEL = re.compile(r"__global__|extern \"C\" void kernel\(|@triton\.jit")
TRIES = 3
"""Of a step whose example fits: a model that errs once may get it right."""
Key = tuple[str, str]
"""Of a state: technique and hash of the code."""


@dataclass(eq=False)
class Action:
    """One edge out of a state, with what came of taking it."""

    edge: str
    """Its key in the graph."""
    technique: str
    step: WorkedStep | None
    result: str | None
    """Hash of the code that the step will make; None where a writer decides."""
    child: "State | None" = None
    failures: int = 0
    """How often it made no kernel, or a wrong one."""
    failed: bool = False
    """It is not taken again."""
    pending: bool = False
    """It is being judged."""
    visits: int = 0
    total: float = 0.0
    """Of all values that were passed back."""
    virtual: int = 0
    """Rollouts in flight that went this way."""
    fits: bool = False
    """An example's change can be made to this very code: nothing has to be carried over in spirit."""
    way: tuple[str, ...] = ()
    """Keys of all edges of a leap; empty: it is one step."""

    @property
    def owed(self) -> bool:
        """Whether its example fits, and nobody has made a right kernel of it yet."""
        return self.fits and self.child is None

    @property
    def edges(self) -> tuple[str, ...]:
        """Keys of the edges that are gone."""
        return self.way or (self.edge,)

    @property
    def open(self) -> bool:
        """Whether it may be taken now."""
        return not self.failed and not self.pending


@dataclass(eq=False)
class State:
    """A node of the search."""

    technique: str
    code: str
    attempt: int | None
    """The attempt that judged the code; None for the code as it came."""
    reward: float
    speedup: float
    """Over the baseline; 1.0 for the code as it came, and where nothing was timed."""
    visits: int = 0
    actions: list[Action] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """Under what it is found again."""
        return self.technique, code_id(self.code)


class Walk:
    """The states of one run."""

    def __init__(self, scope: GraphScope, with_examples: bool = True) -> None:
        self._scope, self._with_examples = scope, with_examples
        self.states: dict[Key, State] = {}
        self.codes: dict[str, State] = {}
        """By the hash of a code: a state that it was judged for."""
        self._to: dict[str, list[Action]] = {}
        """By the hash of a code: the steps that make it."""
        self._judging: set[str] = set()
        self._wrong: set[str] = set()

    def enter(self, technique: str, like: State) -> State:
        """The state of a code after a technique; `like` has what is known of the code."""
        state = State(technique, like.code, like.attempt, like.reward, like.speedup)
        known = self.states.setdefault(state.key, state)
        self.codes.setdefault(code_id(state.code), known)
        if known is state:
            state.actions = list(self._actions(state))
        return known

    def leap(self, state: State, choose: Callable[[State], Action | None], most: int) -> Action | None:
        """Several steps at once, as a successor of the state: only what they make together is judged.

        None where there are not two of them, where a writer decides what they make, or where that was judged already.
        """
        at, taken = state, list[Action]()
        while len(taken) < most and (action := choose(at)) is not None:
            made = apply_step(action.step, at.code, self._scope.sizes) if action.step and action.result else None
            if made is None:
                break
            taken.append(action)
            at = State(action.technique, made, None, 0.0, 1.0)
            at.actions = list(self._actions(at))
        if len(taken) < 2 or code_id(at.code) in {*self.codes, *self._judging, *self._wrong}:
            return None
        return self._as_one(state, taken, at.code)

    def _as_one(self, state: State, taken: Sequence[Action], made: str) -> Action:
        last, steps = taken[-1], [action.step for action in taken if action.step]
        think = " ".join(step.think for step in steps)
        step = steps[-1].model_copy(
            update={"think": think, "before": state.code, "after": made, "sizes": self._scope.sizes, "effect": ""}
        )
        leap = Action(last.edge, last.technique, step, code_id(made), way=tuple(action.edge for action in taken))
        state.actions.append(leap)
        self._to.setdefault(code_id(made), []).append(leap)
        return leap

    def begin(self, action: Action) -> None:
        """A step is being judged: no other one that makes the same code is taken meanwhile."""
        for one in self._alike(action):
            one.pending = True
        if action.result is not None:
            self._judging.add(action.result)

    def end(self, action: Action, failed: bool) -> None:
        """A step was judged; where it failed, so do all that make the same code. A model may try again what fits."""
        for one in self._alike(action):
            one.pending, one.failures = False, one.failures + failed
            one.failed = one.failed or one.failures >= (TRIES if one.fits and one.result is None else 1)
        if action.result is not None:
            self._judging.discard(action.result)
            self._wrong |= {action.result} if failed else set()

    def _alike(self, action: Action) -> list[Action]:
        return [action] if action.result is None else self._to[action.result]

    def _actions(self, state: State) -> Iterator[Action]:
        """All successors at once, in the graph's order."""
        scope = self._scope
        about = (scope.kind, scope.language, scope.family, scope.device, scope.writer, *scope.sizes.items())
        key = (*about, scope.authored, self._with_examples, *state.key)
        if key not in scope.graph.walked:
            scope.graph.walked[key] = tuple(a for a in self._found(state) if a.result != code_id(state.code))
        for known in cast("tuple[Action, ...]", scope.graph.walked[key]):
            action = Action(known.edge, known.technique, known.step, known.result, fits=known.fits)
            if action.result is not None:
                self._to.setdefault(action.result, []).append(action)
                action.failed, action.pending = action.result in self._wrong, action.result in self._judging
            yield action

    def _found(self, state: State) -> Iterator[Action]:
        """What examples and rewritings make of a code, the graph's edges first."""
        scope, rewritten = self._scope, {one.technique: one for one in self._rewritten(state.code)}
        for edge in scope.graph.out(state.technique):
            action = self._action(edge, state.code)
            if action is not None and (action.result is not None or edge.target not in rewritten):
                rewritten.pop(edge.target, None)
                yield action
        if not rewritten and scope.writer == "model" and state.technique == START and scope.spec is not None:
            for port in (known for known in REWRITINGS if known.port and scope.kind in known.kinds):
                card = self._by_card(port.technique, port.think)
                yield Action(f"{START}>{port.technique}", port.technique, card, None)
        for one in rewritten.values():
            step = self._rewriting(state, one)
            result = None if self._scope.writer == "model" else code_id(one.code)
            yield Action(f"{state.technique}>{one.technique}", one.technique, step, result, fits=True)

    def _rewritten(self, code: str) -> Iterator[Rewritten]:
        scope = self._scope
        meant = scope.spec is not None and scope.writer != "author" and scope.language == WRITTEN.get(scope.kind)
        return rewritten(scope.root, scope.spec, scope.kind, code) if meant and scope.spec else iter(())

    def _rewriting(self, state: State, one: Rewritten) -> WorkedStep:
        """A rewriting as a worked step: the code at hand, what becomes of it, and what the technique gained after this one."""
        scope, edge = self._scope, self._scope.graph.by_key.get(f"{state.technique}>{one.technique}")
        gains = sorted(g.median for e in (edge.examples if edge else ()) if (g := e.gain_on(scope.device)))
        effect = (
            f"{gains[len(gains) // 2]:.2f} times as fast in the median of {len(gains)} measured steps on {scope.device}"
            if gains
            else ""
        )
        return WorkedStep(
            technique=one.technique, think=one.think, language=scope.language, before=state.code, after=one.code,
            sizes=scope.sizes, effect=effect,
        )  # fmt: skip

    def _action(self, edge: Edge, code: str) -> Action | None:
        scope = self._scope
        if scope.writer == "author":
            return Action(edge.key, edge.target, None, None) if edge.target in scope.authored else None
        known = (*edge.examples, *edge.counter)
        suited = sorted((e for e in known if self._suits(edge, e)), key=self._rank)
        for example in suited if self._with_examples else ():
            step = self._worked(edge, example)
            made = apply_step(step, code, scope.sizes)
            if made is not None:
                return Action(
                    edge.key, edge.target, step, None if scope.writer == "model" else code_id(made), fits=True
                )
        if scope.writer != "model":
            return None
        if suited:
            return Action(edge.key, edge.target, self._worked(edge, suited[0]) if self._with_examples else None, None)
        written = any((e.kind, e.language) == (scope.kind, scope.language) for e in edge.examples)
        step = self._by_card(edge.target, "")
        return Action(edge.key, edge.target, step, None) if written and edge.source != START else None

    def _by_card(self, technique: str, think: str) -> WorkedStep:
        """A step that nobody has worked out on kindred code: the writer has the technique's card."""
        return WorkedStep(technique=technique, think=think, language=self._scope.language, before="", after="")

    def _suits(self, edge: Edge, example: StepExample) -> bool:
        scope = self._scope
        alike = scope.writer != "model" or not scope.family or example.family in ("", scope.family)
        fits = (example.kind, example.language) == (scope.kind, scope.language)
        # A card's example begins with a kernel: no step from serial code.
        ported = edge.source != START or scope.spec is None or not _KERNEL.search(scope.graph.codes[example.before])
        return fits and ported and alike and example.outcome not in WRONG

    def _rank(self, example: StepExample) -> tuple[bool, float, str]:
        gain = example.gain_on(self._scope.device)
        return example.family != self._scope.family, -gain.median if gain else 0.0, example.id

    def _worked(self, edge: Edge, example: StepExample) -> WorkedStep:
        codes, gain = self._scope.graph.codes, example.gain_on(self._scope.device)
        return WorkedStep(
            technique=edge.target,
            think=example.think,
            detail=example.detail,
            language=example.language,
            before=codes[example.before],
            after=codes[example.after],
            sizes=example.sizes,
            effect=f"{gain.payoff}: {gain.median:.2f} times as fast on {gain.device}" if gain else "",
        )


def root_of(scope: GraphScope) -> State:
    """The code as it came: as fast as the baseline, because it is the baseline."""
    return State(START, scope.root, None, 0.0, 1.0)
