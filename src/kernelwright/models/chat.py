"""The ChatModel protocol: a request in, a reply out.

A model retries what is worth retrying, drops what its endpoint refuses, and counts tokens and money of each call. It
knows no role, prompt or budget.
"""

from typing import Protocol

from kernelwright.records.chat import ChatReply, ChatRequest


class ChatModel(Protocol):
    """Answers. Safe to call concurrently: it queues what its endpoint would not take."""

    @property
    def name(self) -> str:
        """What a person calls it: provider and model, `openai:gpt-5`. Never a key."""
        ...

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Answer one request. An empty, cut or refused answer is a reply; its `finish` says so.

        Raises:
            ModelError: no answer could be had, after all retries; the message has the cure and no key.
        """
        ...

    async def close(self) -> None:
        """Give back connections or memory."""
        ...
