"""echo: whatever the model says is the kernel."""

from collections.abc import Sequence

from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatMessage, ChatRequest


class Echo:
    """Made without arguments."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """One kernel, as the model of the expansion's role writes it."""
        question = ChatMessage(
            role="user", text=f"A kernel for {brief.task.name}, attempt {brief.proposal_request.number}."
        )
        reply = await brief.gateway.ask(brief.proposal_request.role, ChatRequest(messages=(question,)))
        candidate = Candidate(language="cpp", source=reply.text, entry="kernel")
        return [Proposal(candidate=candidate, note="as the model said", model=reply.model)]
