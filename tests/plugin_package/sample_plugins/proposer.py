"""echo: whatever the model says is the kernel."""

from collections.abc import Sequence

from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatRequest, Message


class Echo:
    """Made without arguments."""

    async def propose(self, brief: Brief) -> Sequence[Proposal]:
        """One kernel, as the model of the expansion's role writes it."""
        question = Message(role="user", text=f"A kernel for {brief.task.name}, attempt {brief.expansion.number}.")
        reply = await brief.desk.ask(brief.expansion.role, ChatRequest(messages=(question,)))
        candidate = Candidate(language="cpp", source=reply.text, entry="kernel")
        return [Proposal(candidate=candidate, note="as the model said", model=reply.model)]
