"""The agent: a model that calls tools until it hands a kernel over.

`evaluate` and `submit` end the proposal request with a proposal of that code. The next one of a kept dialogue begins with
the attempt's verdict as the answer to that call, and an answer to each call next to it. The gateway answers every other
tool. Every call is journaled, whoever answers it.
"""

import json
from dataclasses import dataclass, field

from kernelwright.errors import UsageError
from kernelwright.propose.llm.dialogue import (
    Dialogue,
    Memo,
    answered,
    behind,
    opening,
    parent_memo,
    recalled,
    shortened,
)
from kernelwright.propose.llm.parse import Kernel, NoKernel, empty, parse, read
from kernelwright.propose.llm.render import Prompts, Value
from kernelwright.propose.llm.sections import Facts, values
from kernelwright.propose.proposer import Brief, NoRoom
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatReply, ToolCall
from kernelwright.records.tools import TOOLS, CodeArguments, EvaluateResult, ToolFault, read_arguments

LAST = "submit"
"""The tool that ends the conversation."""
NOT_RUN = ToolFault(
    error="it was not run: the evaluation came first; call it again if it is still wanted"
).model_dump_json()
"""The answer to a call that came after the one that handed a kernel over."""


def submitted(brief: Brief) -> bool:
    """Whether the first parent was handed over as the final one: the conversation ended with it."""
    memo = parent_memo(brief)
    said = behind(brief)[-1:] if memo is not None else []
    return memo is not None and any(c.id == memo.call and c.name == LAST for message in said for c in message.calls)


def continued(brief: Brief) -> list[ChatMessage]:
    """The conversation behind the first parent with its calls answered; empty where there is none, or it is not kept."""
    earlier = behind(brief)
    memo = parent_memo(brief)
    if not earlier or memo is None:
        return []
    return shortened([*earlier, *_answers(brief, memo, earlier[-1])])


def _answers(brief: Brief, memo: Memo, said: ChatMessage) -> list[ChatMessage]:
    """An answer to every call of the last reply; the attempt's verdict to the one that ended it."""
    verdict = _verdict(brief)
    results = {**_results(brief, memo), memo.call: verdict}
    answers = [ChatMessage(role="tool", text=results.get(c.id, NOT_RUN), call=c.id) for c in said.calls]
    if memo.call:
        return answers
    return [*answers, ChatMessage(role="user", text=f"Your latest kernel was evaluated. The verdict:\n\n{verdict}")]


def _verdict(brief: Brief) -> str:
    """The verdict on the first parent as JSON; where feedback is withheld, that it is."""
    parent = brief.parents[0]
    if not brief.feedback:
        return json.dumps({"attempt": parent.number, "outcome": "withheld", "trials_left": brief.run.left})
    run = brief.run
    return EvaluateResult.of(parent, brief.feedback[0], best=run.best, trials_left=run.left).model_dump_json()


def _results(brief: Brief, memo: Memo) -> dict[str, str]:
    """What was answered after the last prompt of that thread, by call."""
    turns = recalled(brief, memo)
    start = max((i for i, turn in enumerate(turns) if turn.kind == "prompt"), default=0)
    found, call = {}, ""
    for turn in turns[start:]:
        if turn.kind == "call":
            call = ToolCall.model_validate_json(turn.text).id
        elif turn.kind == "result":
            found[call] = turn.text
    return found


MOST_CALLS = 12
"""Tool calls within one proposal request."""
MOST_REPLIES = MOST_CALLS + 4
"""Replies within one proposal request, those without a usable call included."""
ENDING = ("evaluate", LAST)
"""Tools whose answer is an attempt's verdict."""
CONTRACT = "parts/reply-agent.md"
NO_CALLS_LEFT = (
    f"no more than {MOST_CALLS} tool calls are answered before a kernel is handed over: call evaluate or submit"
)


@dataclass
class Work:
    """One proposal request of an agent."""

    prompts: Prompts
    dialogue: Dialogue
    facts: Facts
    messages: list[ChatMessage] = field(default_factory=list)
    calls: int = 0
    reminded: bool = False
    last: Candidate | None = None
    """The latest kernel that was tried or written down, for when nothing is handed over."""

    @property
    def brief(self) -> Brief:
        """What is worked on."""
        return self.dialogue.brief

    def log(self, call: ToolCall, answer: str = "") -> None:
        """Journal a call that the gateway does not answer; without an answer, its attempt's verdict will be it."""
        self.brief.gateway.log(self.brief.proposal_request.role, call, answer, self.dialogue.sibling)


async def run_agent(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> Proposal | None:
    """One candidate; None when it submitted its last word before, or the budget did not even pay for the first reply."""
    if submitted(dialogue.brief):
        return None
    work = Work(prompts, dialogue, facts, _beginning(prompts, dialogue, facts))
    try:
        for _ in range(MOST_REPLIES):
            reply = await dialogue.ask(work.brief.proposal_request.role, work.messages, TOOLS)
            work.messages = answered(work.messages, reply)
            proposal = await _act(work, reply)
            if proposal is not None:
                return proposal
    except NoRoom:
        return _rest(work, "the budget ended its work") if dialogue.replies else None
    return _rest(work, f"{MOST_REPLIES} replies handed no kernel over")


async def _act(work: Work, reply: ChatReply) -> Proposal | None:
    """Answer every call of a reply, up to the one that hands a kernel over."""
    if not reply.calls:
        return _plain(work, reply)
    proposal: Proposal | None = None
    for call in reply.calls:
        if proposal is not None:
            work.log(call, NOT_RUN)
            continue
        found = _looked_at(work, call)
        if isinstance(found, Candidate):
            work.log(call)
            proposal = work.dialogue.proposal(found, f"agent: {call.name}", call.id)
        else:
            text = await _answer(work, call, found)
            work.messages.append(ChatMessage(role="tool", text=text, call=call.id))
    return proposal


async def _answer(work: Work, call: ToolCall, fault: str) -> str:
    """The gateway's answer, unless there is something wrong with the call."""
    if not fault:
        return await work.brief.gateway.use(work.brief.proposal_request.role, call, work.dialogue.sibling)
    text = ToolFault(error=fault).model_dump_json()
    work.log(call, text)
    return text


def _looked_at(work: Work, call: ToolCall) -> Candidate | str:
    """The kernel that a call hands over; or what is wrong with it, nothing where the gateway answers it."""
    try:
        arguments = read_arguments(call)
    except UsageError as error:
        return str(error)
    found = _read(work, arguments.code) if isinstance(arguments, CodeArguments) else None
    if call.name in ENDING and found is not None:
        return found.candidate if isinstance(found, Kernel) else found.reason
    work.calls += 1
    return NO_CALLS_LEFT if work.calls > MOST_CALLS else ""


def _read(work: Work, code: str) -> Kernel | NoKernel:
    """Code as an argument: bare, or in a fence of its own."""
    language = work.facts.language
    found = read(code, language) if "```" not in code else parse(ChatReply(text=code, model=""), language)
    if isinstance(found, Kernel):
        work.last = found.candidate
    return found


def _plain(work: Work, reply: ChatReply) -> Proposal | None:
    """A reply without a call: reminded of the tools once; after that the code in it is what is handed over."""
    found = parse(reply, work.facts.language, work.brief.parent_source)
    if isinstance(found, Kernel):
        work.last = found.candidate
    if not work.reminded:
        work.reminded = True
        again = work.prompts.render("again-tools", {"contract": CONTRACT, "language": work.facts.language})
        work.dialogue.prompts.append(again)
        work.messages.append(ChatMessage(role="user", text=again.user))
        return None
    if work.last is not None:
        return work.dialogue.proposal(work.last, "agent: evaluate, from its text")
    reason = found.reason if isinstance(found, NoKernel) else ""
    return work.dialogue.proposal(empty(work.facts.language), f"No kernel: {reason}.")


def _beginning(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> list[ChatMessage]:
    """The conversation behind the parent; or a new one."""
    brief = dialogue.brief
    earlier = continued(brief)
    if earlier:
        return earlier
    rendered = prompts.render(f"{brief.proposal_request.role}-{brief.proposal_request.intent}", agent_values(facts))
    dialogue.prompts.append(rendered)
    return [*opening(rendered)]


def agent_values(facts: Facts) -> dict[str, Value]:
    """What an agent's prompt shows: what any writer's does, and how the run stands."""
    feedback = facts.brief.feedback
    return {**values(facts, CONTRACT), "run": facts.brief.run, "reward": feedback[0].reward if feedback else None}


def _rest(work: Work, why: str) -> Proposal:
    """What there is when nothing was handed over: the latest kernel that it tried."""
    if work.last is not None:
        return work.dialogue.proposal(work.last, f"agent: its latest kernel; {why}")
    return work.dialogue.proposal(empty(work.facts.language), f"No kernel: {why}.")
