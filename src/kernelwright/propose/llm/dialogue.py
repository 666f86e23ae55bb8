"""Dialogues: one thread of asking, what it cost, and the conversation behind a parent.

A useless reply gets one more chance. A conversation continues with the messages of the last request of the parent's
thread, its reply, and then the new message. A kept dialogue that has grown too long loses its oldest exchanges, never
its beginning.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from kernelwright.errors import ProposeError
from kernelwright.propose.llm.render import Rendered, prompt_hash
from kernelwright.propose.proposer import Brief, Thread
from kernelwright.records.attempt import Proposal
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest, ToolSpec
from kernelwright.records.run import Message

Found = TypeVar("Found")
LONGEST = 240_000
"""Characters of a kept dialogue: some 60 000 tokens."""
MOST_TOKENS = 1 << 20
"""The longest reply to ask for, before the model's configuration limits it: a writer asks for all the room there is."""
TEMPERATURES = {"coder": 0.7, "frontend": 0.7, "midend": 0.7, "agent": 0.7, "judge": 0.2, "reflector": 0.2}
"""By role, where the model's configuration does not say."""


class Memo(Record):
    """What a proposal remembers: where its dialogue is found in the journal."""

    proposal_request: int
    sibling: int
    role: str
    call: str = ""
    """The id of the tool call that the attempt's feedback answers."""


def read_memo(text: str) -> Memo | None:
    """The memo of a proposal; None when another proposer wrote it."""
    try:
        return Memo.model_validate_json(text)
    except ValidationError:
        return None


def parent_memo(brief: Brief) -> Memo | None:
    """The memo of the first parent; None where there is none, or another proposer wrote it."""
    return read_memo(brief.parents[0].proposal.memo) if brief.parents else None


@dataclass
class Dialogue:
    """One thread of a brief: asks, and adds up what was used."""

    brief: Brief
    sibling: int
    replies: list[ChatReply] = field(default_factory=list)
    prompts: list[Rendered] = field(default_factory=list)
    writer: str = ""
    """The model that wrote last."""

    async def ask(
        self,
        role: str,
        messages: Sequence[ChatMessage],
        tools: tuple[ToolSpec, ...] = (),
        answer: dict[str, JsonValue] | None = None,
    ) -> ChatReply:
        """One reply of the role's model; `answer` is the JSON Schema that it shall have.

        Raises:
            NoRoom, ModelError, ProposeError: as `ModelGateway.ask`.
        """
        request = ChatRequest(
            messages=tuple(messages),
            temperature=TEMPERATURES.get(role),
            max_tokens=MOST_TOKENS,
            seed=(self.brief.seed + 1_000_003 * self.sibling) % (1 << 31),
            tools=tools,
            answer=answer,
        )
        reply = await self.brief.gateway.ask(role, request, self.sibling)
        self.replies.append(reply)
        if role == self.brief.proposal_request.role:
            self.writer = reply.model
        return reply

    def proposal(self, candidate: Candidate, note: str, call: str = "") -> Proposal:
        """What came of the thread, with its cost."""
        proposal_request = self.brief.proposal_request
        memo = Memo(
            proposal_request=proposal_request.number, sibling=self.sibling, role=proposal_request.role, call=call
        )
        return Proposal(
            candidate=candidate,
            note=note,
            memo=memo.model_dump_json(),
            prompt=prompt_hash(*self.prompts) if self.prompts else self.brief.parents[0].proposal.prompt,
            model=self.writer,
            tokens=sum(reply.usage.total for reply in self.replies),
            usd=sum(reply.usd or 0.0 for reply in self.replies),
        )


async def ask_twice(
    dialogue: Dialogue,
    role: str,
    messages: Sequence[ChatMessage],
    read: Callable[[ChatReply], Found],
    again: Callable[[Found], Rendered | None],
    answer: dict[str, JsonValue] | None = None,
) -> Found:
    """What `read` finds in a reply; where `again` has something to say to that, in the reply to it.

    Raises:
        NoRoom: the budget does not pay for a reply; for the second, `again` was called with what the first one held.
        ModelError, ProposeError: as `ModelGateway.ask`.
    """
    reply = await dialogue.ask(role, messages, answer=answer)
    found = read(reply)
    rendered = again(found)
    if rendered is None:
        return found
    asked = [*answered(messages, reply), ChatMessage(role="user", text=rendered.user)]
    reply = await dialogue.ask(role, asked, answer=answer)
    dialogue.prompts.append(rendered)
    return read(reply)


def opening(rendered: Rendered) -> tuple[ChatMessage, ...]:
    """A dialogue's first messages."""
    return ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user)


def answered(messages: Sequence[ChatMessage], reply: ChatReply) -> list[ChatMessage]:
    """The dialogue with the reply in it."""
    return [*messages, ChatMessage(role="assistant", text=reply.text, calls=reply.calls)]


def behind(brief: Brief) -> list[ChatMessage]:
    """The conversation behind the first parent that this role had; empty where there is none, or it is not kept.

    Raises:
        ProposeError: the journal holds something else than requests and replies.
    """
    memo = parent_memo(brief)
    if brief.proposal_request.dialogue != "kept" or memo is None or memo.role != brief.proposal_request.role:
        return []
    turns = recalled(brief, memo)
    asked = [i for i, turn in enumerate(turns) if turn.kind == "prompt"]
    if not asked:
        return []
    try:
        request = ChatRequest.model_validate_json(turns[asked[-1]].text)
        replies = [ChatReply.model_validate_json(t.text) for t in turns[asked[-1] :] if t.kind == "reply"]
    except ValidationError as error:
        raise ProposeError(
            f"the dialogue of proposal request {memo.proposal_request} cannot be read: {error}"
        ) from None
    return answered(request.messages, replies[0]) if replies else []


def recalled(brief: Brief, memo: Memo) -> tuple[Message, ...]:
    """What this role said and heard in an earlier thread."""
    turns = brief.gateway.recall(Thread(memo.proposal_request, memo.sibling))
    return tuple(turn for turn in turns if turn.role == memo.role)


def shortened(messages: Sequence[ChatMessage], most: int = LONGEST) -> list[ChatMessage]:
    """The dialogue without its oldest exchanges, where it is longer than `most` characters."""
    start = next((i for i, m in enumerate(messages) if m.role == "assistant"), len(messages))
    lengths = [len(m.text) + sum(len(c.arguments) for c in m.calls) for m in messages]
    # An exchange is a reply with what was said to it.
    replies = [i for i, m in enumerate(messages) if i >= start and m.role == "assistant"] or [start]
    fitting = (i for i in replies if sum(lengths[:start]) + sum(lengths[i:]) <= most)
    return [*messages[:start], *messages[next(fitting, replies[-1]) :]]
