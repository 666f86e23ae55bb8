"""Supervised fine-tuning through TRL's SFTTrainer. Loss is taken of the reply alone; prompts are the product's own."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
import trl
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.train.data.prompts import Piece
from kernelwright.train.engine.network import Network, lora, open_network
from kernelwright.train.engine.watch import (
    FallsWithTime,
    Finite,
    Heard,
    Watch,
    last_checkpoint,
    micro_batches,
    shared_arguments,
    silence,
    sound_attention,
)
from kernelwright.train.recipe import MODEL, Judge, Sft, Training

datasets.disable_progress_bars()
UNLEARNT = -100
"""The label of a token that no loss is taken of."""
PAD_MULTIPLE = 128
"""Rows are as wide as a multiple of so many tokens: a GPU's allocator and libraries then meet few shapes."""
READERS = 2
"""Processes that put batches together while a GPU works on the one before."""


def train_sft(
    recipe: Sft | Judge, pieces: Sequence[Piece], folder: Path, keep: Callable[[Record], None], heard: Heard
) -> Path:
    """Train, go on from the last checkpoint if there is one, and save the model; returns its folder.

    The recipe's seconds count from the beginning, so that the rows that are made first take of them too.

    Raises:
        UsageError: no row is short enough, or the model cannot be loaded.
    """
    since, network = monotonic(), open_network(recipe.model)
    made = _tokenized(network, pieces, recipe.max_tokens)
    if not len(made):
        raise UsageError(f"no sample of {recipe.data!r} fits into max_tokens = {recipe.max_tokens}: raise it")
    micro, accumulated = micro_batches(recipe.batch, recipe.micro_batch)
    shared = shared_arguments(recipe, folder)
    settings = trl.SFTConfig(
        **shared,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulated,
        max_length=recipe.max_tokens,
        shuffle_dataset=False,
        train_sampling_strategy="group_by_length",
        dataloader_num_workers=0 if shared["use_cpu"] else READERS,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = _Trainer(
        recipe=recipe,
        since=since,
        model=network.model,
        args=settings,
        train_dataset=made,
        processing_class=network.tokenizer,
        data_collator=Collator(network.tokenizer.pad_token_id, pad_to_multiple_of=PAD_MULTIPLE),
        peft_config=lora(recipe.lora_rank),
        callbacks=[Watch(keep, heard, recipe.seconds, since=since), Finite()],
    )
    silence(trainer)
    sound_attention()
    trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    return save(trainer, network, folder)


class _Trainer(FallsWithTime, trl.SFTTrainer):  # type: ignore[misc]
    """TRL's, with a rate that falls with the time."""

    def __init__(self, *, recipe: Training, since: float, **rest: Any) -> None:  # noqa: ANN401  TRL's
        self.kw_recipe, self.kw_since = recipe, since
        super().__init__(**rest)


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


def _tokenized(network: Network, pieces: Sequence[Piece], most: int) -> datasets.Dataset:
    """Tokens and labels of all rows that are short enough, with their lengths; many rows are made by all cores."""
    make = partial(_tokens, network.tokenizer, network.end, most)
    if len(pieces) == 1:
        made = [make(pieces[0])]
    else:
        with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
            made = list(pool.map(make, pieces))
    ids, prompts, lengths = (np.concatenate(each) for each in zip(*made, strict=True))
    ends = np.cumsum(lengths)
    labels = ids.copy()
    for start, prompt in zip(ends - lengths, prompts, strict=True):
        labels[start : start + prompt] = UNLEARNT
    offsets = pa.array(np.concatenate([[0], ends]), pa.int64())
    lists = {"input_ids": ids, "labels": labels}
    columns = {name: pa.LargeListArray.from_arrays(offsets, pa.array(values)) for name, values in lists.items()}
    return datasets.Dataset(pa.table({**columns, "length": pa.array(lengths)}))


def _tokens(tokenizer: Any, end: int, most: int, piece: Piece) -> tuple[np.ndarray, ...]:  # noqa: ANN401
    """All tokens of a piece's rows behind each other; tokens of each prompt; tokens of each row."""
    made = list(piece())
    asked = Network(tokenizer, None).prompts_ids([prompt for prompt, _ in made])
    replies = tokenizer([reply for _, reply in made], add_special_tokens=False)["input_ids"] if made else []
    rows = [(p, [*p, *r, end]) for p, r in zip(asked, replies, strict=True) if len(p) + len(r) < most]
    ids = np.fromiter((token for _, row in rows for token in row), np.int32)
    return ids, np.array([len(p) for p, _ in rows], np.int64), np.array([len(row) for _, row in rows], np.int64)
