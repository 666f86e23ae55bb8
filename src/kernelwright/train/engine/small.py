"""A small causal language model from scratch, with a byte-level tokenizer of its own that knows our prompts and kernels.

The words of the prompt files and of Triton become single tokens, so that a prompt takes a quarter of the tokens that a
general tokenizer gives it. Digits stay apart, so that shapes and constants can be copied.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

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
