"""Which module serves a provider. To add one: write its module with `open_model`, and a line here.

A distribution of somebody else brings a provider by an entry point (docs/plugins.md).
"""

from importlib import import_module
from typing import cast

from kernelwright.errors import UsageError
from kernelwright.models.chat import ChatModel
from kernelwright.models.config import ModelConfig
from kernelwright.plugins import load_plugin

MODULES: dict[str, str] = {
    "openai": "kernelwright.models.openai_compatible",
    "anthropic": "kernelwright.models.claude",
    "huggingface": "kernelwright.models.huggingface",
    "replay": "kernelwright.models.replay",
}
"""Imported when first asked for: their SDKs are heavy, and some are extras."""
EXTRAS: dict[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "huggingface": ("torch", "transformers", "tokenizers", "safetensors"),
}
"""What an extra of the provider's name installs."""


def make_model(config: ModelConfig) -> ChatModel:
    """The model of a configuration; nothing is asked or loaded before its first request.

    Raises:
        UsageError: it cannot work: no key, no package, no such folder, a base URL that is none, a broken plug-in.
    """
    if config.provider not in MODULES:
        return _from_plugin(config)
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
