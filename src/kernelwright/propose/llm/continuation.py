"""The continuation of an agent's conversation: it starts with what became of the kernel that the agent handed over.

The attempt's verdict, and an answer to each call next to it, go out as tool results.
"""

import json

from kernelwright.propose.llm.dialogue import Memo, behind, parent_memo, recalled, shortened
from kernelwright.propose.proposer import Brief
from kernelwright.records.chat import Message, ToolCall
from kernelwright.records.tools import EvaluateResult, ToolFault

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


def continued(brief: Brief) -> list[Message]:
    """The conversation behind the first parent with its calls answered; empty where there is none, or it is not kept."""
    earlier = behind(brief)
    memo = parent_memo(brief)
    if not earlier or memo is None:
        return []
    return shortened([*earlier, *_answers(brief, memo, earlier[-1])])


def _answers(brief: Brief, memo: Memo, said: Message) -> list[Message]:
    """An answer to every call of the last reply; the attempt's verdict to the one that ended it."""
    verdict = _verdict(brief)
    results = {**_results(brief, memo), memo.call: verdict}
    answers = [Message(role="tool", text=results.get(c.id, NOT_RUN), call=c.id) for c in said.calls]
    if memo.call:
        return answers
    return [*answers, Message(role="user", text=f"Your latest kernel was evaluated. The verdict:\n\n{verdict}")]


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
