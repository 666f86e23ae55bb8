"""parrot: a model that answers by the length of the question."""

from kernelwright.models.config import ModelConfig
from kernelwright.records.chat import ChatReply, ChatRequest


def open_model(config: ModelConfig) -> "Parrot":
    """A client of the model that the configuration names."""
    return Parrot(f"{config.provider}:{config.name}")


class Parrot:
    """Needs no network and no key."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def reply(self, request: ChatRequest) -> ChatReply:
        """A kernel of the scripted referee's kind."""
        return ChatReply(text=f"// quality {sum(map(ord, request.messages[-1].text)) % 40}\n", model=self.name, usd=0.0)

    async def close(self) -> None:
        """Nothing is open."""
