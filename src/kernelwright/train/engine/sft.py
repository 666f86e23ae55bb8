"""Supervised fine-tuning through TRL's SFTTrainer. Loss is taken of the reply alone; prompts are the product's own."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
import trl
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatMessage
from kernelwright.train.engine.network import Network, lora, open_network
from kernelwright.train.engine.watch import (
    Finite,
    Heard,
    Watch,
    last_checkpoint,
    micro_batches,
    shared_arguments,
    silence,
    sound_attention,
)
from kernelwright.train.recipe import MODEL, Judge, Sft

datasets.disable_progress_bars()
Row = tuple[tuple[ChatMessage, ...], str]
"""A prompt, and the reply to learn."""
UNLEARNT = -100
"""The label of a token that no loss is taken of."""
PAD_MULTIPLE = 128
"""Rows are as wide as a multiple of so many tokens: a GPU's allocator and libraries then meet few shapes."""
READERS = 2
"""Processes that put batches together while a GPU works on the one before."""


def train_sft(
    recipe: Sft | Judge, rows: Iterable[Row], folder: Path, keep: Callable[[Record], None], heard: Heard
) -> Path:
    """Train, go on from the last checkpoint if there is one, and save the model; returns its folder.

    Raises:
        UsageError: no row is short enough, or the model cannot be loaded.
    """
    network = open_network(recipe.model)
    made = [row for row in _tokenized(network, list(rows)) if len(row["input_ids"]) <= recipe.max_tokens]
    if not made:
        raise UsageError(f"no sample of {recipe.data!r} fits into max_tokens = {recipe.max_tokens}: raise it")
    micro, accumulated = micro_batches(recipe.batch, recipe.micro_batch)
    shared = shared_arguments(recipe, folder)
    settings = trl.SFTConfig(
        **shared,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulated,
        max_length=recipe.max_tokens,
        shuffle_dataset=False,
        dataloader_num_workers=0 if shared["use_cpu"] else READERS,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = trl.SFTTrainer(
        model=network.model,
        args=settings,
        train_dataset=datasets.Dataset.from_list(made),
        processing_class=network.tokenizer,
        data_collator=Collator(network.tokenizer.pad_token_id, pad_to_multiple_of=PAD_MULTIPLE),
        peft_config=lora(recipe.lora_rank),
        callbacks=[Watch(keep, heard, recipe.seconds), Finite()],
    )
    silence(trainer)
    sound_attention()
    trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    return save(trainer, network, folder)


def save(trainer: trl.SFTTrainer | trl.GRPOTrainer, network: Network, folder: Path) -> Path:
    """The trained model, or its adapter, with the tokenizer: what `--model hf:` takes."""
    target = folder / MODEL
    trainer.save_model(str(target))
    if trainer.is_world_process_zero():
        network.tokenizer.save_pretrained(target)
    return target


class Collator(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Padding behind the rows, and no attention mask.

    No token of a causal model sees what is behind it, so the mask changes no loss; but with one PyTorch's flash attention
    is not to be had.
    """

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """See `DataCollatorForLanguageModeling`; positions in place of the mask, int64[rows, tokens]."""
        made: dict[str, Any] = super().torch_call(examples)
        mask = made.pop("attention_mask")
        # Pinned memory takes no view of which several elements are one.
        return {**made, "position_ids": torch.arange(mask.shape[1]).repeat(mask.shape[0], 1)}


def _tokenized(network: Network, rows: Sequence[Row]) -> list[dict[str, list[int]]]:
    """All rows at once, which a tokenizer takes several times faster than one by one."""
    prompts = network.prompts_ids([prompt for prompt, _ in rows])
    replies = network.tokenizer([reply for _, reply in rows], add_special_tokens=False)["input_ids"]
    return [
        {"input_ids": [*p, *r, network.end], "labels": [*[UNLEARNT] * len(p), *r, network.end]}
        for p, r in zip(prompts, replies, strict=True)
    ]
