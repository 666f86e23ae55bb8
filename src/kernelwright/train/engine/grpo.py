"""GRPO on measured rewards, through TRL's GRPOTrainer: one turn or several, which `rollouts.py` plays.

`_generate_and_score_completions`, which `_Trainer` weighs advantages behind, is TRL's own.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import datasets
import torch
import trl

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.train.engine.network import Network, lora, open_network
from kernelwright.train.engine.rollouts import Rollouts, as_dicts
from kernelwright.train.engine.sft import save
from kernelwright.train.engine.watch import (
    FallsWithTime,
    Finite,
    Heard,
    Watch,
    last_checkpoint,
    micro_batches,
    processes,
    shared_arguments,
    silence,
    sound_attention,
)
from kernelwright.train.environment import Environment
from kernelwright.train.judges import Loop
from kernelwright.train.recipe import Grpo

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
REFERENCE = "reference"
"""The policy before its first step, in the run's folder."""


OPTIMIZERS = {"adamw": "adamw_torch_fused", "sgd": "sgd"}
"""What transformers calls them."""


def train_grpo(
    recipe: Grpo, environment: Environment, folder: Path, keep: Callable[[Record], None], heard: Heard, loop: Loop
) -> Path:
    """Train, go on from the last checkpoint if there is one, and save the model; returns its folder.

    Args:
        recipe: What to do.
        environment: Its judge belongs to the loop.
        folder: For checkpoints and the model.
        keep: Gets every record.
        heard: Gets every step.
        loop: Where verdicts are awaited.

    Raises:
        UsageError: the model cannot be loaded.
    """
    network = open_network(recipe.model)
    if recipe.beta and not recipe.lora_rank:
        keep_reference(network, folder / REFERENCE)
    rollouts = Rollouts(recipe, environment, network, loop, keep)
    trainer = _trainer(recipe, environment, network, rollouts, folder)
    trainer.add_callback(Watch(keep, heard, recipe.seconds, recipe.updates))
    trainer.add_callback(Finite())
    silence(trainer)
    sound_attention()
    try:
        trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    finally:
        rollouts.close()
    return save(trainer, network, folder)


def keep_reference(network: Network, place: Path) -> None:
    """Where TRL looks for the policy that the KL term pulls to: the model's own file may be of a kind that it cannot read."""
    if not place.exists():
        network.model.save_pretrained(place)
    network.model.config.name_or_path = str(place)


class _Trainer(FallsWithTime, trl.GRPOTrainer):  # type: ignore[misc]
    """TRL's, with advantages below zero of a weight of their own, tokens' own credit, and a rate that falls with the time."""

    def __init__(self, *, recipe: Grpo, rollouts: Rollouts, **rest: Any) -> None:  # noqa: ANN401  TRL's
        self._recipe, self._rollouts = recipe, rollouts
        self.kw_recipe, self.kw_since = recipe, monotonic()
        super().__init__(**rest, rollout_func=rollouts)

    def _generate_and_score_completions(self, inputs: Any) -> Any:  # noqa: ANN401
        made = super()._generate_and_score_completions(inputs)
        if self._recipe.by_prefix:
            made["advantages"] = with_credit(made["advantages"], self._rollouts.credit, made["completion_ids"].shape[1])
        made["advantages"] = weighed(made["advantages"], self._recipe.negative)
        return made


def with_credit(advantages: torch.Tensor, credit: Sequence[Sequence[float]], width: int) -> torch.Tensor:
    """Advantages, float[rows], and beside them what single tokens earn: float[rows, width]."""
    own = torch.tensor([[*row, *[0.0] * (width - len(row))] for row in credit])
    return advantages[:, None] + own.to(advantages)


def weighed(advantages: torch.Tensor, negative: float) -> torch.Tensor:
    """Advantages, float[rows] or float[rows, width], those below zero times `negative`."""
    return torch.where(advantages < 0, negative * advantages, advantages)


def _trainer(
    recipe: Grpo, environment: Environment, network: Network, rollouts: Rollouts, folder: Path
) -> trl.GRPOTrainer:
    rows = recipe.groups * recipe.trajectories * recipe.turns
    if recipe.groups % processes():
        raise UsageError(
            f"{recipe.groups} groups cannot be dealt out to {processes()} processes equally: choose a multiple"
        )
    micro, accumulated = micro_batches(rows, recipe.micro_batch)
    settings = trl.GRPOConfig(
        **shared_arguments(recipe, folder),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulated,
        num_generations=recipe.trajectories * recipe.turns,
        num_iterations=recipe.updates,
        max_completion_length=recipe.max_new_tokens,
        temperature=recipe.temperature,
        epsilon=recipe.clip_low,
        epsilon_high=recipe.clip_high,
        beta=recipe.beta,
        loss_type=recipe.loss,
        optim=OPTIMIZERS[recipe.optimizer],
        scale_rewards="none" if recipe.credit == "trloo" else recipe.scale,
        mask_truncated_completions=True,
    )
    openings = [
        as_dicts(environment.opening(one)) for one in environment.assignments if recipe.split in ("all", one.split)
    ]
    if len(openings) < recipe.groups:
        raise UsageError(
            f"a step of {recipe.groups} groups needs as many tasks, and there are {len(openings)}: choose fewer, or more data"
        )
    return _Trainer(
        recipe=recipe,
        rollouts=rollouts,
        model=network.model,
        args=settings,
        train_dataset=datasets.Dataset.from_list([{"prompt": one} for one in openings]),
        processing_class=network.tokenizer,
        reward_funcs=[credited],
        peft_config=lora(recipe.lora_rank),
    )


def credited(ret: list[float | None], **_: object) -> list[float | None]:
    """The reward that TRL sees: the return that the rollouts have worked out."""
    return ret
