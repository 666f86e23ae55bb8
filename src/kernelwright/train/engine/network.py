"""Opening a network to train: a checkpoint, an adapter over one, or a GGUF file. Nothing is fetched, no foreign code runs."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

from kernelwright.errors import UsageError
from kernelwright.models.huggingface import prompt_text
from kernelwright.records.chat import ChatMessage

SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


class Network(NamedTuple):
    """A model and its tokenizer."""

    tokenizer: Any
    model: Any

    def prompt_ids(self, messages: tuple[ChatMessage, ...]) -> list[int]:
        """A prompt's tokens, exactly as `models.huggingface` makes them when the trained model is asked."""
        text = prompt_text(self.tokenizer, messages, ())
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @property
    def end(self) -> int:
        """The token that ends a reply."""
        return int(self.tokenizer.eos_token_id)


def open_network(where: str) -> Network:
    """The network at a path, with float32 weights: trainers cast what they compute with.

    Raises:
        UsageError: there is none.
    """
    path = Path(where)
    try:
        if path.suffix == ".gguf":
            return _gguf(path)
        if (path / "adapter_config.json").is_file():
            return _adapted(path)
        if not (path / "config.json").is_file():
            raise UsageError(f"model {where!r} must be a folder with a config.json or an adapter, or a .gguf file")
        model = transformers.AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.float32, use_safetensors=True, **SAFE
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UsageError(f"model {where!r} cannot be loaded: {error}") from None
    return _padded(Network(transformers.AutoTokenizer.from_pretrained(path, **SAFE), model))


def _gguf(path: Path) -> Network:
    where: dict[str, Any] = {"gguf_file": path.name, "local_files_only": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **where)
    return _padded(Network(transformers.AutoTokenizer.from_pretrained(path.parent, **where), model))


def _adapted(path: Path) -> Network:
    """An adapter's base with the adapter merged in."""
    import peft  # noqa: PLC0415  an extra's part, for adapters alone

    base = json.loads((path / "adapter_config.json").read_text())["base_model_name_or_path"]
    found = open_network(base)
    return found._replace(model=peft.PeftModel.from_pretrained(found.model, path).merge_and_unload())


def _padded(found: Network) -> Network:
    if found.tokenizer.pad_token is None:
        found.tokenizer.pad_token = found.tokenizer.eos_token
    found.model.config.use_cache = True
    return found


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
