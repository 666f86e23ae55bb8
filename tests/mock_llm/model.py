"""The model behind the server: a request in, an answer out, and the same answer for the same request.

Chance never depends on how a prompt is worded, only on the request's seed and the dialogue's step: other words with the
same facts have the same answer.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

from kernelwright.records.task import Task
from mock_llm import adviser
from mock_llm.answer import LABEL, WRAPPED, Answer, Toolbox, cut_calls, kernel_text, wrapped
from mock_llm.breakage import Fault, broken
from mock_llm.faults import BROKEN, Broken, Chance, Content, Faults, Wrapped
from mock_llm.follower import Followed, Follower, chosen
from mock_llm.handicaps import eased
from mock_llm.prompt import Prompt
from mock_llm.writer import Writer, words, writers


class Issued(NamedTuple):
    """A kernel that was handed out."""

    task: str
    """Id of the task."""
    handicaps: tuple[str, ...]
    fault: Fault | None = None


class Ledger:
    """All kernels that were handed out. Safe to use from several threads."""

    def __init__(self) -> None:
        self._issued: dict[str, Issued] = {}
        self._lock = Lock()

    def keep(self, source: str, issued: Issued) -> None:
        """Remember a kernel."""
        with self._lock:
            self._issued[_key(source)] = issued

    def find(self, source: str) -> Issued | None:
        """The kernel with this text; None for one of another hand."""
        with self._lock:
            return self._issued.get(_key(source))


def _key(source: str) -> str:
    return hashlib.sha256(words(source).encode("utf-8", "surrogatepass")).hexdigest()


C = ("cpp", "cuda")
"""Tags of code in C's syntax."""
FIRST = (2, 3)
"""Handicaps of a first kernel."""
LOST = "I do not see which task this is about: its reference stands in no message."
ADVICE: tuple[Wrapped, ...] = ("refusal", "prose", "empty", "truncated")


class Known(NamedTuple):
    """The code at hand."""

    source: str
    issued: Issued
    since: int
    """The first message in which it stands."""


@dataclass(frozen=True)
class Step:
    """What becomes of the code at hand."""

    kind: str
    handicaps: tuple[str, ...]
    fault: Broken | None = None
    """One that stays, or takes the other's place."""
    sure: bool = False
    """No further fault is drawn."""


class MockModel:
    """Answers requests about tasks that it was given."""

    def __init__(
        self, tasks: Sequence[Task], seed: int, faults: Faults, best: Mapping[str, str], cuda: Mapping[str, str]
    ) -> None:
        self._writers = writers([task for task in tasks if not task.source.serial], best, cuda)
        self._follower = Follower(tasks)
        self._seed, self._faults = seed, faults
        self._ledger = Ledger()

    def answer(self, prompt: Prompt, chance: str, tools: Toolbox) -> Answer:
        """The answer to a request; `chance` is what its draws are fixed by."""
        draw = Chance(self._seed, chance)
        match prompt.role:
            case "judge-repair":
                return self._advice(prompt.role, adviser.repair(prompt), draw)
            case "judge-improve":
                return self._advice(prompt.role, adviser.improve(prompt), draw)
            case "reflector":
                return self._advice(prompt.role, adviser.reflect(prompt), draw)
            case "navigator":
                return self._advice(prompt.role, chosen(prompt, draw.of("step")), draw)
            case "coder" | "agent":
                return self._kernel(prompt, draw, tools)

    def _advice(self, role: str, text: str, draw: Chance) -> Answer:
        found = Answer(role, "advice", text)
        luck = draw.of("advice")
        if luck.random() >= self._faults.advice_rate:
            return found
        kind = luck.choice(ADVICE)
        cut = replace(found, text=text[: len(text) // 2], finish="length", fault=kind)
        return cut if kind == "truncated" else wrapped(found, "", "", kind)

    # Kernels.

    def _kernel(self, prompt: Prompt, draw: Chance, tools: Toolbox) -> Answer:
        writer = self._writer(prompt)
        if writer is None:
            followed = self._follower.kernel(prompt)
            return self._following(prompt, followed, draw) if followed else Answer(prompt.role, "lost", LOST)
        known = self._known(prompt, writer)
        if prompt.tools:
            call = tools.before(prompt, known.source if known else "", draw.of("look-up"))
            if call is not None:
                return Answer(prompt.role, call.name, calls=(call,), finish="tool_calls")
        step = self._step(prompt, writer, known, draw)
        return self._made(prompt, writer, step, draw, tools)

    def _following(self, prompt: Prompt, followed: Followed, draw: Chance) -> Answer:
        """A worked step, with a fault where one is drawn."""
        kind, source = self._drawn_fault(Step("followed", ()), draw), followed.source
        spoiled = broken(source, followed.tag in C, kind, draw.of("place")) if kind in BROKEN else None
        found = Answer(prompt.role, "followed", fault=kind if spoiled or kind in WRAPPED else "")
        if kind in WRAPPED:
            return wrapped(found, source, followed.tag, kind)
        return replace(found, text=kernel_text(spoiled.source if spoiled else source, followed.tag, LABEL))

    def _writer(self, prompt: Prompt) -> Writer | None:
        """The task whose reference stands in the prompt; the target by the language that is wanted."""
        said = words(prompt.text)
        found = [w for w in self._writers if w.reference in said]
        wanted = "\n".join(s.body for s in prompt.sections if s.title == "reply")
        found.sort(key=lambda w: (len(w.reference), f"```{w.tag}" in wanted), reverse=True)
        return found[0] if found else None

    def _known(self, prompt: Prompt, writer: Writer) -> Known | None:
        """The latest code of ours in the prompt."""
        at_hand: Known | None = None
        for number, source in prompt.codes():
            issued = self._ledger.find(source)
            if issued is None or issued.task != writer.task.id:
                continue
            if at_hand is None or (issued == at_hand.issued and words(source) == words(at_hand.source)):
                at_hand = Known(source, issued, number)
        return at_hand

    def _step(self, prompt: Prompt, writer: Writer, known: Known | None, draw: Chance) -> Step:
        if known is None:
            names, luck = [h.name for h in writer.handicaps], draw.of("handicaps")
            return Step("seed", tuple(luck.sample(names, min(luck.choice(FIRST), len(names)))))
        fault = known.issued.fault
        if fault is not None and not prompt.proves_right(known.since):
            if prompt.shows(fault, known.since):
                return Step("mended", known.issued.handicaps, sure=True)
            luck = draw.of("unmended")
            other = luck.choice((fault.kind, luck.choice(BROKEN)))
            return Step("unmended", known.issued.handicaps, other, sure=True)
        return self._improved(prompt, writer, known, draw)

    def _improved(self, prompt: Prompt, writer: Writer, known: Known, draw: Chance) -> Step:
        """One handicap less where its bottleneck is named; otherwise as many as before."""
        present = known.issued.handicaps
        if not present:
            return Step("best", ())
        lifted = eased(prompt.bottlenecks(known.since), [h for h in writer.handicaps if h.name in present])
        if lifted is not None:
            return Step("improved", tuple(n for n in present if n != lifted.name))
        absent = [h.name for h in writer.handicaps if h.name not in present]
        if not absent:
            return Step("sideways", present)
        luck = draw.of("handicaps")
        out = luck.choice(present)
        return Step("sideways", (*(n for n in present if n != out), luck.choice(absent)))

    def _made(self, prompt: Prompt, writer: Writer, step: Step, draw: Chance, tools: Toolbox) -> Answer:
        """The step's kernel, with a fault where one is drawn."""
        kind = self._drawn_fault(step, draw)
        handicaps = step.handicaps
        if kind == "slow":
            handicaps = (*handicaps, *[h.name for h in writer.handicaps if h.name not in handicaps][:1])
        source, fault = writer.kernel(handicaps), None
        spoiled = broken(source, writer.tag in C, kind, draw.of("place")) if kind in BROKEN else None
        if spoiled is not None:
            source, fault = spoiled
        self._ledger.keep(source, Issued(writer.task.id, handicaps, fault))
        told = fault.kind if fault else "" if kind in BROKEN else kind or ""
        found = Answer(prompt.role, step.kind, fault=told)
        if prompt.tools:
            done = not handicaps and fault is None and step.kind == "best"
            call = (None if done else tools.looking(source, draw.of("compile"))) or tools.handing(source, done)
            found = replace(found, calls=(call,), finish="tool_calls")
            return cut_calls(found, kind) if kind in WRAPPED else found
        if kind in WRAPPED:
            return wrapped(found, source, writer.tag, kind)
        return replace(found, text=kernel_text(source, writer.tag, LABEL))

    def _drawn_fault(self, step: Step, draw: Chance) -> Content | None:
        if step.sure:
            return step.fault
        luck = draw.of("fault")
        return luck.choice(self._faults.kinds) if self._faults.kinds and luck.random() < self._faults.rate else None
