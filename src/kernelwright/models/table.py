"""The ChatModel protocol, and which module serves a provider.

A model retries what is worth retrying, drops what its endpoint refuses, and counts tokens and money of each call. It
knows no role, prompt or budget. To add a provider: write its module with `open_model`, and a line here; a distribution
of somebody else brings one by an entry point (docs/plugins.md).
"""

import os
from importlib import import_module
from typing import Protocol, cast

from kernelwright.errors import UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.plugins import load_plugin
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
            ModelError: no answer could be had, after all retries; the message has the fix and no key.
        """
        ...

    async def close(self) -> None:
        """Give back connections or memory."""
        ...


MODULES: dict[str, str] = {
    "openai": "kernelwright.models.openai_compatible",
    "anthropic": "kernelwright.models.claude",
    "huggingface": "kernelwright.models.huggingface",
    "replay": "kernelwright.models.replay",
}
"""Imported when first asked for: their SDKs are heavy, and some are extras."""
EXTRAS: dict[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "huggingface": ("torch", "transformers", "tokenizers", "safetensors"),
}
"""What an extra of the provider's name installs."""


def keep_local() -> None:
    """Have Hugging Face's libraries ask no hub and send nobody a word; before any of them is imported."""
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ.setdefault(name, "1")


def make_model(config: ModelConfig) -> ChatModel:
    """The model of a configuration; nothing is asked or loaded before its first request.

    Raises:
        UsageError: it cannot work: no key, no package, no such folder, a base URL that is none, a broken plug-in.
    """
    if config.provider not in MODULES:
        return _from_plugin(config)
    keep_local()
    try:
        module = import_module(MODULES[config.provider])
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.partition(".")[0] not in EXTRAS.get(config.provider, ()):
            raise
    else:
        return cast("ChatModel", module.open_model(config))
    raise UsageError(
        f"the model {config.provider}:{config.name} needs the package {missing}: "
        f"pip install 'kernelwright[{config.provider}]'"
    )


def _from_plugin(config: ModelConfig) -> ChatModel:
    open_model = load_plugin("models", config.provider)
    if open_model is None:
        raise UsageError(f"the provider of the model {config.provider}:{config.name} is not installed any more")
    return cast("ChatModel", open_model(config))
