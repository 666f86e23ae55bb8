"""The LLM proposer: for each sibling of a proposal request the adviser's step, the prompt, the reply, the kernel in it.

It never evaluates and knows no provider. A dialogue that the budget ends is given up, unless the writer's first reply
was paid for: that counts.
"""

import asyncio
from collections.abc import Sequence

from pydantic import ValidationError

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.knowledge.retrieval import Context, search
from kernelwright.languages import names_for
from kernelwright.propose.llm.advice import advise
from kernelwright.propose.llm.agent import run_agent
from kernelwright.propose.llm.dialogue import Dialogue, ask_twice, behind, opening, shortened
from kernelwright.propose.llm.graph import NAVIGATOR, choose_step, with_step
from kernelwright.propose.llm.parse import Kernel, NoKernel, empty, parse
from kernelwright.propose.llm.render import STANDARD, Prompts, Rendered
from kernelwright.propose.llm.sections import Facts, values
from kernelwright.propose.proposer import Brief, NoRoom
from kernelwright.records.attempt import Proposal
from kernelwright.records.chat import ChatMessage, ChatReply, ToolCall
from kernelwright.records.evaluation import Measured
from kernelwright.records.measure import BaselineName
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import Profile
from kernelwright.records.tools import QUERY_CHARACTERS, FoundCard, SearchArguments, SearchResult

CARDS = 1
"""A prompt holds one example, as GEAK's retrieval gives it."""


async def look_up(brief: Brief, sibling: int, language: LanguageName, profile: Profile | None) -> tuple[FoundCard, ...]:
    """Cards for the first parent's bottleneck, its language and the task's operations."""
    found = brief.parents[0].evaluation
    limit = diagnose(profile, found if isinstance(found, Measured) else None).bottleneck
    operations = dict.fromkeys(node.op.removeprefix("aten.").partition(".")[0] for node in brief.task.graph.nodes)
    query = " ".join((limit, language, *operations))[:QUERY_CHARACTERS]
    asked = SearchArguments(query=query, bottleneck=limit, limit=CARDS)
    call = ToolCall(id=f"search-{sibling}", name="search", arguments=asked.model_dump_json())
    answer = await brief.gateway.use(brief.proposal_request.role, call, sibling)
    try:
        return SearchResult.model_validate_json(answer).cards
    except ValidationError:
        return ()


def direction(brief: Brief, sibling: int, language: LanguageName, profile: Profile | None) -> str:
    """Which way one of several candidates goes: a limit of the parent that was measured, then techniques for the task.

    The first goes its own way, as in the paper; and so does a repair, which has one cause.
    """
    if sibling == 0 or brief.proposal_request.intent == "repair":
        return ""
    parent = brief.parents[0].evaluation if brief.parents and brief.feedback else None
    statement = diagnose(profile, parent if isinstance(parent, Measured) else None)
    limits = [f"Attack this limit: {found.suggestion}" for found in statement.findings]
    where = Context(kind=brief.task.target.kind, language=language, family=brief.task.graph.family)
    named = [f"Build it around the technique {hit.technique.name}." for hit in search(where=where, limit=sibling)]
    ways = [*limits, *named]
    return ways[(sibling - 1) % len(ways)] if ways else ""


AGENT = "agent"
"""The role that works with tools."""
CODE = "parts/reply-code.md"
"""What every writer must reply with."""


class LLM:
    """Writes with language models; stateless, so that a resumed run asks the same."""

    held_against: tuple[BaselineName, ...] = ("eager", "compile")

    def __init__(self, variant: str = STANDARD) -> None:
        """Read the prompts of a variant.

        Raises:
            UsageError: there is no such variant.
        """
        self._prompts = Prompts(variant)

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """A proposal for each sibling whose dialogue the budget paid for.

        Raises:
            ProposeError: there is no prompt or no model for this role.
            ModelError: a model cannot be had.
        """
        # A sibling whose model cannot be had ends the run; what the others are answered meanwhile is paid for and is kept.
        tasks = (self._one(brief, number) for number in range(brief.proposal_request.count))
        made = await asyncio.gather(*tasks, return_exceptions=True)
        for found in made:
            if isinstance(found, BaseException):
                raise found
        return [proposal for proposal in made if isinstance(proposal, Proposal)]

    async def _one(self, brief: Brief, sibling: int) -> Proposal | None:
        if brief.proposal_request.adviser != NAVIGATOR:
            return await write(self._prompts, Dialogue(brief, sibling))
        step = await choose_step(brief, sibling)
        found = await write(self._prompts, Dialogue(with_step(brief, step), sibling))
        return found.model_copy(update={"technique": step.technique}) if found is not None else None


async def write(prompts: Prompts, dialogue: Dialogue) -> Proposal | None:
    """One candidate; None when the budget did not even pay for the first reply of the writer."""
    brief = dialogue.brief
    try:
        facts = await _facts(prompts, dialogue)
        if brief.proposal_request.role == AGENT:
            return await run_agent(prompts, dialogue, facts)
        rendered = prompts.render(f"{brief.proposal_request.role}-{brief.proposal_request.intent}", values(facts, CODE))
        dialogue.prompts.append(rendered)
        found = await _kernel(prompts, dialogue, rendered, facts)
    except NoRoom:
        return None
    if isinstance(found, NoKernel):
        return dialogue.proposal(empty(facts.language), f"No kernel: {found.reason}.")
    request = brief.proposal_request
    of = f" of attempt {request.parents[0]}" if request.parents else ""
    return dialogue.proposal(found.candidate, f"{request.role}: {request.intent}{of}")


async def _facts(prompts: Prompts, dialogue: Dialogue) -> Facts:
    brief, request = dialogue.brief, dialogue.brief.proposal_request
    language = brief.language or names_for(brief.task.target.kind)[0]
    profile, kept, told = None, bool(behind(brief)), bool(brief.parents and brief.feedback)
    if told and request.intent in ("improve", "apply-technique") and not (kept and request.role == AGENT):
        profile = await brief.gateway.profile(brief.parents[0].number, dialogue.sibling)
    asked = bool(request.adviser) and request.intent != "seed"
    advice = await advise(prompts, dialogue, Facts(brief, language, profile, judging=True)) if asked else ""
    cards = await look_up(brief, dialogue.sibling, language, profile) if told and request.look_up else ()
    away = direction(brief, dialogue.sibling, language, profile) if request.diverse else ""
    return Facts(brief, language, profile, advice, cards, kept=kept, direction=away, trained=prompts.trained)


async def _kernel(prompts: Prompts, dialogue: Dialogue, rendered: Rendered, facts: Facts) -> Kernel | NoKernel:
    brief = dialogue.brief
    earlier = behind(brief)
    messages = [*shortened(earlier), ChatMessage(role="user", text=rendered.user)] if earlier else [*opening(rendered)]

    refused: list[NoKernel] = []

    def again(found: Kernel | NoKernel) -> Rendered | None:
        if isinstance(found, Kernel):
            return None
        refused.append(found)
        brief.gateway.note(brief.proposal_request.role, f"No kernel: {found.reason}.", dialogue.sibling)
        return prompts.render("again", {"problem": found.reason, "contract": CODE, "language": facts.language})

    def kernel(reply: ChatReply) -> Kernel | NoKernel:
        return parse(reply, facts.language, brief.parent_source)

    try:
        return await ask_twice(dialogue, brief.proposal_request.role, messages, kernel, again)
    except NoRoom:
        if not refused:
            raise
        return refused[0]
