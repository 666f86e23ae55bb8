"""Rows for a judge: a measured kernel, and the diagnosis and plan that led from it to a measured gain.

A diagnosis that a judge gave in a past run is the reply to learn where its kernel gained. Where nobody gave one, the reply is
what the profile says of the parent, and the change that gained.
"""

import re
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.feedback.describe import describe
from kernelwright.propose.llm.advice import MOST_METRICS, SHOWN, ImproveAdvice
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.sections import Facts, evidence, known, metrics_shown
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, ProposalRequest, speedup
from kernelwright.records.chat import ChatMessage
from kernelwright.records.evaluation import Measured
from kernelwright.train.data.prompts import Row
from kernelwright.train.data.sample import Sample

NAME = "judge-improve"
_CONSTANT = re.compile(r"^([A-Z][A-Z0-9_]*) = (\d+)$", re.MULTILINE)


def judge_rows(samples: Iterable[Sample], least_gain: float, variant: str = "standard") -> Iterator[Row]:
    """A prompt and its reply for each sample that gained so much over a measured parent, and says or shows by what."""
    prompts = Prompts(variant)
    for one in samples:
        parent = one.parent
        if parent is None or not isinstance(parent.evaluation, Measured) or not one.judged.eager:
            continue
        reply = given(one.advice) or _own(one, parent, parent.evaluation)
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
    told = [
        f"set {name} to {value} instead of {old[name]}" for name, value in new.items() if old.get(name, value) != value
    ]
    return ", and ".join(told)


def _own(one: Sample, parent: Attempt, measured: Measured) -> ImproveAdvice | None:
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
    shown = {key: every[key] for key in (*SHOWN[NAME], "hint")}
    rendered = prompts.render(NAME, {**shown, "contract": f"parts/reply-{NAME}.md"})
    metrics = reply.metrics or metrics_shown(facts)[:MOST_METRICS]
    prompt = (ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user))
    return prompt, reply.model_copy(update={"metrics": metrics}).model_dump_json(indent=1)
