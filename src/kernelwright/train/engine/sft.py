"""Supervised fine-tuning through TRL's SFTTrainer. Loss is taken of the reply alone; prompts are the product's own."""

from collections.abc import Callable, Iterable
from pathlib import Path

import datasets
import trl

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatMessage
from kernelwright.train.engine.network import Network, lora, open_network
from kernelwright.train.engine.watch import (
    Heard,
    Watch,
    last_checkpoint,
    micro_batches,
    shared_arguments,
    silence,
)
from kernelwright.train.recipe import MODEL, Judge, Sft

datasets.disable_progress_bars()
Row = tuple[tuple[ChatMessage, ...], str]
"""A prompt, and the reply to learn."""


def train_sft(
    recipe: Sft | Judge, rows: Iterable[Row], folder: Path, keep: Callable[[Record], None], heard: Heard
) -> Path:
    """Train, go on from the last checkpoint if there is one, and save the model; returns its folder.

    Raises:
        UsageError: no row is short enough, or the model cannot be loaded.
    """
    network = open_network(recipe.model)
    made = [row for row in (_tokens(network, one, recipe.max_tokens) for one in rows) if row]
    if not made:
        raise UsageError(f"no sample of {recipe.data!r} fits into max_tokens = {recipe.max_tokens}: raise it")
    micro, accumulated = micro_batches(recipe.batch, recipe.micro_batch)
    settings = trl.SFTConfig(
        **shared_arguments(recipe, folder),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulated,
        max_length=recipe.max_tokens,
        completion_only_loss=True,
        shuffle_dataset=False,
    )
    trainer = trl.SFTTrainer(
        model=network.model,
        args=settings,
        train_dataset=datasets.Dataset.from_list(made),
        processing_class=network.tokenizer,
        peft_config=lora(recipe.lora_rank),
        callbacks=[Watch(keep, heard, recipe.seconds)],
    )
    silence(trainer)
    trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    return save(trainer, network, folder)


def save(trainer: trl.SFTTrainer | trl.GRPOTrainer, network: Network, folder: Path) -> Path:
    """The trained model, or its adapter, with the tokenizer: what `--model hf:` takes."""
    target = folder / MODEL
    trainer.save_model(str(target))
    if trainer.is_world_process_zero():
        network.tokenizer.save_pretrained(target)
    return target


def _tokens(network: Network, row: Row, most: int) -> dict[str, list[int]] | None:
    prompt = network.prompt_ids(row[0])
    reply = [*network.tokenizer(row[1], add_special_tokens=False)["input_ids"], network.end]
    if len(prompt) + len(reply) > most:
        return None
    return {"input_ids": prompt + reply, "completion_mask": [0] * len(prompt) + [1] * len(reply)}
