"""A scripted chat model and a proposer that asks it: dialogues without an endpoint, a price or a compiler."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelwright.errors import ModelError
from kernelwright.propose.proposer import Brief, NoRoom
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest, Usage

Answer = Callable[[ChatRequest], str]


@dataclass
class ScriptedModel:
    """Answers each request by a function of it; four characters of its last message are a token."""

    answer: Answer = lambda request: f"// quality {len(request.messages[-1].text) % 40}\n"
    fails: Sequence[int] = ()
    """Calls, counted from 0, that raise ModelError."""
    tokens: int = 100
    """Of each reply."""
    delay_s: float = 0.0
    name: str = "scripted"
    requests: list[ChatRequest] = field(default_factory=list)
    """What was asked, in order."""
    closed: bool = False

    async def reply(self, request: ChatRequest) -> ChatReply:
        """The answer."""
        self.requests.append(request)
        await asyncio.sleep(self.delay_s)
        if len(self.requests) - 1 in self.fails:
            raise ModelError("the scripted model is not to be had: this is a test")
        usage = Usage(prompt=len(request.messages[-1].text) // 4, completion=min(self.tokens, request.max_tokens))
        return ChatReply(text=self.answer(request), model=self.name, usage=usage, usd=0.001)

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


@dataclass
class AskingProposer:
    """Proposes what a model says, after `adviser` has spoken where the proposal request names one."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """One dialogue for each candidate; what the budget does not pay for is left out."""
        asked = (self._one(brief, sibling) for sibling in range(brief.proposal_request.count))
        return [made for made in await asyncio.gather(*asked) if made is not None]

    async def _one(self, brief: Brief, sibling: int) -> Proposal | None:
        line = "; ".join(words.words for words in brief.feedback)
        try:
            if brief.parents:
                await brief.gateway.profile(brief.parents[0].number, sibling)
            if brief.proposal_request.adviser:
                advice = await brief.gateway.ask(brief.proposal_request.adviser, _request(f"advise on {line}"), sibling)
                brief.gateway.note(brief.proposal_request.adviser, advice.text, sibling)
            reply = await brief.gateway.ask(brief.proposal_request.role, _request(f"{sibling} write {line}"), sibling)
        except NoRoom:
            return None
        candidate = Candidate(language="cpp", source=reply.text, entry="kernel")
        return Proposal(candidate=candidate, tokens=reply.usage.total, usd=reply.usd or 0.0, model=reply.model)


def _request(text: str) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=text),))
