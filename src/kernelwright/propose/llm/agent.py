"""The agent: a model that calls tools until it hands a kernel over.

Decides how long it may work on one expansion, and that `evaluate` and `submit` end it with a proposal of that code; the
next expansion of a kept dialogue answers the call with the attempt's verdict. Every other tool is the desk's to answer.
"""

import json
from dataclasses import dataclass, field

from pydantic import ValidationError

from kernelwright.propose.desk import NoRoom
from kernelwright.propose.llm.dialogue import Dialogue, Memo, answered, behind, opening, read_memo, recalled, shortened
from kernelwright.propose.llm.kernel_text import Kernel, NoKernel, empty, read
from kernelwright.propose.llm.parse import parse
from kernelwright.propose.llm.render import Prompts, Value
from kernelwright.propose.llm.sections import Facts, evidence, known, past
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatReply, Message, ToolCall
from kernelwright.records.tools import TOOLS, CodeArguments, EvaluateResult, ToolFault

MOST_CALLS = 12
"""Tool calls within one expansion."""
MOST_REPLIES = MOST_CALLS + 4
"""Replies within one expansion, those without a usable call included."""
LAST = "submit"
ENDING = ("evaluate", LAST)
"""Tools whose answer is an attempt's verdict."""
CONTRACT = "parts/reply-agent.md"
NOT_RUN = "it was not run: the evaluation came first; call it again if it is still wanted"
NO_CALLS_LEFT = (
    f"no more than {MOST_CALLS} tool calls are answered before a kernel is handed over: call evaluate or submit"
)


@dataclass
class Work:
    """One expansion of an agent."""

    prompts: Prompts
    dialogue: Dialogue
    facts: Facts
    messages: list[Message] = field(default_factory=list)
    calls: int = 0
    reminded: bool = False
    last: Candidate | None = None
    """The latest kernel that was tried or written down, for when nothing is handed over."""

    @property
    def brief(self) -> Brief:
        """What is worked on."""
        return self.dialogue.brief

    @property
    def parent(self) -> str:
        """The source that edits are applied to."""
        return self.brief.parents[0].proposal.candidate.source if self.brief.parents else ""


async def work(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> Proposal | None:
    """One candidate; None when it submitted its last word before, or the budget did not even pay for the first reply."""
    if _submitted(dialogue.brief):
        return None
    task = Work(prompts, dialogue, facts, _beginning(prompts, dialogue, facts))
    try:
        for _ in range(MOST_REPLIES):
            reply = await dialogue.ask(task.brief.expansion.role, task.messages, TOOLS)
            task.messages = answered(task.messages, reply)
            proposal = await _act(task, reply)
            if proposal is not None:
                return proposal
    except NoRoom:
        return _rest(task, "the budget ended its work") if dialogue.replies else None
    return _rest(task, f"{MOST_REPLIES} replies handed no kernel over")


async def _act(task: Work, reply: ChatReply) -> Proposal | None:
    """Answer every call of a reply, or take what it hands over."""
    if not reply.calls:
        return _plain(task, reply)
    for call in reply.calls:
        if call.name in ENDING:
            found = _handed(task, call)
            if isinstance(found, Kernel):
                return task.dialogue.proposal(found.candidate, f"agent: {call.name}", call.id)
            text = _fault(found.reason)
        else:
            text = await _used(task, call)
        task.messages.append(Message(role="tool", text=text, call=call.id))
    return None


def _plain(task: Work, reply: ChatReply) -> Proposal | None:
    """A reply without a call: reminded of the tools once; after that the code in it is what is handed over."""
    found = parse(reply, task.facts.language, task.parent)
    if isinstance(found, Kernel):
        task.last = found.candidate
    if not task.reminded:
        task.reminded = True
        again = task.prompts.render("again-tools", {"contract": CONTRACT, "language": task.facts.language})
        task.dialogue.prompts.append(again)
        task.messages.append(Message(role="user", text=again.user))
        return None
    if task.last is not None:
        return task.dialogue.proposal(task.last, "agent: evaluate, from its text")
    reason = found.reason if isinstance(found, NoKernel) else ""
    return task.dialogue.proposal(empty(task.facts.language), f"No kernel: {reason}.")


def _handed(task: Work, call: ToolCall) -> Kernel | NoKernel:
    try:
        code = CodeArguments.model_validate_json(call.arguments)
    except ValidationError as error:
        return NoKernel(f'the arguments of {call.name} must be JSON such as {{"code": "..."}}: {_first(error)}')
    return _read(task, code.code)


def _read(task: Work, code: str) -> Kernel | NoKernel:
    """Code as an argument: bare, or in a fence of its own."""
    found = read(code, task.facts.language) if "```" not in code else parse(_as_reply(code), task.facts.language)
    if isinstance(found, Kernel):
        task.last = found.candidate
    return found


async def _used(task: Work, call: ToolCall) -> str:
    if call.name not in {tool.name for tool in TOOLS}:
        return _fault(f"there is no tool {call.name!r}; there are {', '.join(tool.name for tool in TOOLS)}")
    task.calls += 1
    if task.calls > MOST_CALLS:
        return _fault(NO_CALLS_LEFT)
    _remember(task, call)
    return await task.brief.desk.use(task.brief.expansion.role, call, task.dialogue.sibling)


def _remember(task: Work, call: ToolCall) -> None:
    try:
        _read(task, CodeArguments.model_validate_json(call.arguments).code)
    except ValidationError:
        return  # a search, or arguments that the desk will answer for


def _beginning(prompts: Prompts, dialogue: Dialogue, facts: Facts) -> list[Message]:
    """The conversation behind the parent with its call answered; or a new one."""
    brief = dialogue.brief
    earlier = behind(brief)
    memo = read_memo(brief.parents[0].proposal.memo) if brief.parents else None
    if earlier and memo is not None:
        return shortened([*earlier, *_verdict(brief, memo, earlier[-1])])
    rendered = prompts.render(f"{brief.expansion.role}-{brief.expansion.intent}", _values(facts))
    dialogue.prompts.append(rendered)
    return opening(rendered)


def _submitted(brief: Brief) -> bool:
    """Whether the first parent was handed over as the final one: the conversation ended with it."""
    memo = read_memo(brief.parents[0].proposal.memo) if brief.parents else None
    said = behind(brief)[-1:] if memo is not None else []
    return memo is not None and any(c.id == memo.call and c.name == LAST for message in said for c in message.calls)


def _verdict(brief: Brief, memo: Memo, said: Message) -> list[Message]:
    """An answer to every call of the last reply; the attempt's verdict to the one that ended it."""
    verdict = _told(brief)
    results = {**_results(brief, memo), memo.call: verdict}
    answers = [Message(role="tool", text=results.get(c.id, _fault(NOT_RUN)), call=c.id) for c in said.calls]
    if memo.call:
        return answers
    return [*answers, Message(role="user", text=f"Your latest kernel was evaluated. The verdict:\n\n{verdict}")]


def _told(brief: Brief) -> str:
    """The verdict on the first parent as JSON; where feedback is withheld, that it is."""
    if not brief.feedback:
        return json.dumps({"attempt": brief.parents[0].number, "outcome": "withheld"})
    return EvaluateResult.of(brief.parents[0], brief.feedback[0]).model_dump_json()


def _results(brief: Brief, memo: Memo) -> dict[str, str]:
    """What the tools answered after the last prompt of that thread, by call."""
    turns = recalled(brief, memo)
    start = max((i for i, turn in enumerate(turns) if turn.kind == "prompt"), default=0)
    found, call = {}, ""
    for turn in turns[start:]:
        if turn.kind == "call":
            call = ToolCall.model_validate_json(turn.text).id
        elif turn.kind == "result":
            found[call] = turn.text
    return found


def _values(facts: Facts) -> dict[str, Value]:
    shown = {**known(facts), "contract": CONTRACT, "language": facts.language}
    return shown if facts.brief.expansion.intent == "seed" else {**shown, **evidence(facts), **past(facts)}


def _rest(task: Work, why: str) -> Proposal:
    """What there is when nothing was handed over: the latest kernel that it tried."""
    if task.last is not None:
        return task.dialogue.proposal(task.last, f"agent: its latest kernel; {why}")
    return task.dialogue.proposal(empty(task.facts.language), f"No kernel: {why}.")


def _as_reply(text: str) -> ChatReply:
    return ChatReply(text=text, model="")


def _fault(reason: str) -> str:
    return ToolFault(error=reason).model_dump_json()


def _first(error: ValidationError) -> str:
    return str(error.errors()[0]["msg"])[:200]
