"""Which module serves a provider. To add one: write its module with `open_model`, and a line here."""

from importlib import import_module
from typing import cast

from kernelwright.errors import UsageError
from kernelwright.models.chat import ChatModel
from kernelwright.models.config import ModelConfig, Provider

MODULES: dict[Provider, str] = {
    "openai": "kernelwright.models.openai_compatible",
    "anthropic": "kernelwright.models.claude",
    "huggingface": "kernelwright.models.huggingface",
    "replay": "kernelwright.models.replay",
}
"""Imported when first asked for: their SDKs are heavy, and some are extras."""
EXTRAS: dict[Provider, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "huggingface": ("torch", "transformers", "tokenizers", "safetensors"),
}
"""What an extra of the provider's name installs."""


def make_model(config: ModelConfig) -> ChatModel:
    """The model of a configuration; nothing is asked or loaded before its first request.

    Raises:
        UsageError: it cannot work: no key, no package, no such folder, a base URL that is none.
    """
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
