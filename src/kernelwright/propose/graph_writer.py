"""Takes the steps of a walk over the graph of techniques without a model.

Where the request brings an example, its change is merged into the parent's source, or into the code as it came. Where it
brings none, the built-in author applies the technique, if it is one of those that a change of its schedule is.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.errors import UsageError
from kernelwright.propose.author.author import Author
from kernelwright.propose.llm.graph import choose_step
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal, WorkedStep
from kernelwright.records.technique import apply_step
from kernelwright.tasks.kernel_file import parse_text

MASTERED: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("mastered.toml").read_text(encoding="utf-8")
)
"""By language, the change of the author's schedule that a technique is."""


class GraphWriter:
    """See the module."""

    def __init__(self) -> None:
        self._author = Author()

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """One proposal, or none where the example's change does not fit.

        Raises:
            ProposeError: the author cannot write the task.
        """
        request = brief.proposal_request
        if request.intent == "apply-technique" and request.steps:
            step = await choose_step(brief)
            made = _carry_over(brief, step)
            return [made] if made is not None else []
        if request.intent == "apply-technique":
            written = brief.parents[0].proposal.candidate.language if brief.parents else brief.language or ""
            hints = MASTERED.get(written, {})
            request = request.model_copy(update={"hint": hints.get(request.hint, request.hint)})
        return await self._author.propose(replace(brief, proposal_request=request))


def _carry_over(brief: Brief, step: WorkedStep) -> Proposal | None:
    source = apply_step(step, brief.parent_source or brief.task.source.origin, brief.task.source.sizes)
    if source is None:
        return None
    try:
        candidate = parse_text(source, brief.task.target.kind, step.language)
    except UsageError:
        return None
    note = f"{step.technique}: {step.think}"
    return Proposal(candidate=candidate, note=note[:300], technique=step.technique)
