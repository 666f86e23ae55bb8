"""Opening a network to train: a checkpoint, an adapter over one, or a GGUF file. Nothing is fetched, no foreign code runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from kernelwright.errors import UsageError
from kernelwright.models.huggingface import is_checkpoint, load_checkpoint, prompt_text
from kernelwright.records.chat import ChatMessage


class Network(NamedTuple):
    """A model and its tokenizer."""

    tokenizer: Any
    model: Any

    def prompt_ids(self, messages: tuple[ChatMessage, ...]) -> list[int]:
        """A prompt's tokens, exactly as `models.huggingface` makes them when the trained model is asked."""
        return self.prompts_ids([messages])[0]

    def prompts_ids(self, prompts: Sequence[tuple[ChatMessage, ...]]) -> list[list[int]]:
        """Several prompts' tokens, at once."""
        texts = [prompt_text(self.tokenizer, messages, ()) for messages in prompts]
        return list(self.tokenizer(texts, add_special_tokens=False)["input_ids"]) if texts else []

    @property
    def end(self) -> int:
        """The token that ends a reply."""
        return int(self.tokenizer.eos_token_id)


def open_network(where: str) -> Network:
    """The network at a path, with float32 weights: trainers cast what they compute with.

    Raises:
        UsageError: there is none, or it cannot be loaded.
    """
    if not is_checkpoint(where):
        raise UsageError(f"model {where!r} must be a folder with a config.json or an adapter, or a .gguf file")
    try:
        tokenizer, model = load_checkpoint(where, torch.float32)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise UsageError(f"model {where!r} cannot be loaded: {error}") from None
    if where.endswith(".gguf"):
        _as_floats(model, where)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Network(tokenizer, model)


def _as_floats(model: Any, where: str) -> None:  # noqa: ANN401
    """Loading has turned a GGUF file's weights into floats; trainers refuse a model that says otherwise.

    An adapter over it names the file, which transformers takes for its folder.
    """
    model.is_quantized = False
    for holder, name in ((model, "hf_quantizer"), (model.config, "quantization_config")):
        if hasattr(holder, name):
            delattr(holder, name)
    model.name_or_path = model.config._name_or_path = where


def lora(rank: int) -> Any:  # noqa: ANN401  peft's own type
    """The adapter of a rank over every linear layer; None for rank 0.

    Raises:
        UsageError: the package is missing.
    """
    if not rank:
        return None
    try:
        import peft  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError("LoRA needs the package peft: pip install 'kernelwright[train]'") from None
    return peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
