"""From samples to rows of supervised fine-tuning: the prompt that the product would send, and the reply to learn."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import Literal

from pydantic import ValidationError

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.feedback.describe import describe
from kernelwright.languages import language
from kernelwright.propose.llm.advice import MOST_METRICS, SHOWN, ImproveAdvice
from kernelwright.propose.llm.parse import apply_settings, settings
from kernelwright.propose.llm.render import EDITS, STANDARD, Prompts
from kernelwright.propose.llm.sections import Facts, evidence, known, metrics_shown
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, ProposalRequest, speedup
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage
from kernelwright.records.evaluation import Measured
from kernelwright.records.task import Task
from kernelwright.train.data.kernels import copied, in_form
from kernelwright.train.data.sample import Sample
from kernelwright.train.environment import Assignment, Environment, Judge, Settings

Row = tuple[tuple[ChatMessage, ...], str]
Piece = Callable[[], Iterable[Row]]
A_PIECE = 250
"""Samples whose rows one process makes at a time."""


class Nobody:
    """Nothing is judged where only prompts are rendered."""

    async def judge(self, *_: object) -> None:
        """Never asked."""
        raise AssertionError


def fenced(source: str, fence: str) -> str:
    """A reply with one fenced block, as the contract asks for."""
    return f"```{fence}\n{source.rstrip()}\n```"


def reply_with(kernel: Candidate, parent: Attempt | None = None, variant: str = STANDARD) -> str:
    """A reply with this kernel in it, as the variant's prompts ask for it: whole, or as an edit of the parent's."""
    if variant == EDITS and parent is not None:
        return edit_of(parent.proposal.candidate.source, kernel.source)
    return fenced(kernel.source, language(kernel.language).fence)


def edit_of(old: str, new: str) -> str:
    """What makes one text of another: assignments where only module-level constants differ, else SEARCH/REPLACE blocks.

    What a block searches for occurs once, with more lines if need be.
    """
    return _settings_of(old, new) or _blocks_of(old, new)


def _settings_of(old: str, new: str) -> str:
    changed = [b for a, b in zip(old.split("\n"), new.split("\n"), strict=False) if a != b]
    found = settings(changed) or {}
    return "\n".join(found.values()) if apply_settings(old, found) == new else ""


def _blocks_of(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    made = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            less, more = _once(before, i, j)
            block = [*before[less:i], *after[k:m], *before[j:more]]
            made.append("\n".join(("<<<<<<< SEARCH", *before[less:more], "=======", *block, ">>>>>>> REPLACE")))
    return "\n".join(made)


def _once(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The smallest stretch around these lines, to both sides by turns, that occurs once and is not blank."""
    while first > 0 or last < len(lines):
        found = [line.rstrip() for line in lines[first:last]]
        places = sum([x.rstrip() for x in lines[i : i + len(found)]] == found for i in range(len(lines)))
        if any(found) and places == 1:
            break
        first, last = max(0, first - 1), min(len(lines), last + 1)
    return first, last


def opening(task: Task, role: str) -> tuple[ChatMessage, ...]:
    """The first prompt of a role about a task."""
    return Environment((), Nobody(), Settings(role=role)).opening(Assignment(task=task))


def rows(
    samples: Iterable[Sample],
    role: Literal["frontend", "midend", "coder"],
    variant: str = "standard",
    forms: int = 1,
    copies: int = 1,
    first: int = 0,
) -> Iterator[Row]:
    """A prompt and its reply for each sample that has what the role starts from: the mid-end needs a parent.

    With several forms, samples take them in turn: one as it was written, others with their modules in other forms. With
    several copies, all samples come again in other forms, with their kernels under other settings (`data/kernels.py`).
    `first` is the first one's number among all.
    """
    nobody: Judge = Nobody()
    environment = Environment((), nobody, Settings(role=role, variant=variant))
    shown = list(samples) if copies > 1 else samples
    every = (copied(one, copy) if copy else one for copy in range(copies) for one in shown)
    for number, each in enumerate(every, first):
        one = in_form(each, number % forms)
        if role == "midend" and one.parent is None:
            continue
        parent = one.parent if role == "midend" else None
        prompt = environment.opening(Assignment(task=one.task, parent=parent, split=one.split))
        yield prompt, reply_with(one.candidate, parent, variant)


def pieces(samples: Sequence[Sample], make: Callable[..., Iterable[Row]]) -> list[Piece]:
    """What gives the rows of some samples each, so that all cores can make them: another form takes five milliseconds.

    Args:
        samples: All of them.
        make: The rows of some of them; `first` is the number of the first one.
    """
    return [partial(make, samples[at : at + A_PIECE], first=at) for at in range(0, len(samples), A_PIECE)]


NAME = "judge-improve"
_CONSTANT = re.compile(r"^([A-Z][A-Z0-9_]*) = (\d+)$", re.MULTILINE)


def judge_rows(samples: Iterable[Sample], least_gain: float, variant: str = "standard") -> Iterator[Row]:
    """A prompt and its reply for each sample that gained so much over a measured parent, and says or shows by what."""
    prompts = Prompts(variant)
    for one in samples:
        parent = one.parent
        if parent is None or not isinstance(parent.evaluation, Measured) or not one.judged.eager:
            continue
        reply = given(one.advice) or _from_profile(one, parent, parent.evaluation)
        if reply is not None and one.judged.eager >= least_gain * speedup(parent):
            yield _row(prompts, one, parent, reply)


def given(advice: str) -> ImproveAdvice | None:
    """The diagnosis of a past run's judge; None where it gave none, or one of a wrong kernel."""
    try:
        return ImproveAdvice.model_validate_json(advice)
    except ValidationError:
        return None


def changes(before: str, after: str) -> str:
    """Which constants differ between two sources, in words; empty where none does."""
    old, new = dict(_CONSTANT.findall(before)), dict(_CONSTANT.findall(after))
    changed = [
        f"set {name} to {value} instead of {old[name]}" for name, value in new.items() if old.get(name, value) != value
    ]
    return ", and ".join(changed)


def _from_profile(one: Sample, parent: Attempt, measured: Measured) -> ImproveAdvice | None:
    """What the profile says, and what was changed; None where nothing tells what was."""
    plan = one.plan or changes(parent.proposal.candidate.source, one.candidate.source)
    found = diagnose(None, measured)
    why = f"{found.bottleneck}: {found.findings[0].evidence}" if found.findings else found.bottleneck
    return ImproveAdvice(bottleneck=why, method="launch and block sizes", plan=plan) if plan else None


def _row(prompts: Prompts, one: Sample, parent: Attempt, reply: ImproveAdvice) -> Row:
    request = ProposalRequest(number=1, intent="improve", parents=(parent.number,), role="midend", adviser="judge")
    feedback = describe(parent, None, None)
    facts = Facts(Brief(one.task, request, (parent,), (feedback,), 0, one.candidate.language), one.candidate.language)
    every = {**known(facts), **evidence(facts)}
    shown = {key: every[key] for key in (*SHOWN[NAME], "order", "hint")}
    rendered = prompts.render(NAME, {**shown, "contract": f"parts/reply-{NAME}.md"})
    metrics = reply.metrics or metrics_shown(facts)[:MOST_METRICS]
    prompt = (ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user))
    return prompt, reply.model_copy(update={"metrics": metrics}).model_dump_json(indent=1)
