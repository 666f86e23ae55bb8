"""Opening a network to train: a checkpoint, an adapter over one, or a GGUF file. Nothing is fetched, no foreign code runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

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


END, PAD = "<|end|>", "<|pad|>"
ROLES = tuple(f"<|{role}|>" for role in ("system", "user", "assistant"))
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ANSWER = {
    "defaults": {"role": "assistant"},
    "start_anchor": ROLES[-1],
    "fields": {"content": {"close": END, "content": "text"}},
}
"""Where a reply begins and ends: without it `transformers serve` reads replies as those of the architecture's family."""
WINDOW = 8192
SIZES: dict[str, dict[str, int]] = {
    "1M": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
    "4M": {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4},
    "24M": {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8},
    "60M": {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 10, "num_attention_heads": 12},
}
"""By about how many parameters they have, with a vocabulary of 4096."""


def make_small(folder: Path, texts: Iterable[str], size: str = "24M", vocabulary: int = 4096, seed: int = 0) -> Path:
    """Train the tokenizer, draw the weights, and save both as a checkpoint; returns the folder."""
    tokenizer = _tokenizer(texts, vocabulary)
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        num_key_value_heads=SIZES[size]["num_attention_heads"] // 2,
        head_dim=64,
        max_position_embeddings=WINDOW,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        **SIZES[size],
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    # Without it `transformers serve` takes no request's temperature.
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(texts: Iterable[str], vocabulary: int) -> transformers.PreTrainedTokenizerFast:
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END, PAD, *ROLES], initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token=END, pad_token=PAD, additional_special_tokens=list(ROLES)
    )
    made.chat_template = TEMPLATE
    made.response_template = ANSWER
    made.model_max_length = WINDOW
    return made
