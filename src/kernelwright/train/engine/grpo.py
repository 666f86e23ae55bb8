"""GRPO on measured rewards, through TRL's GRPOTrainer: one turn or several.

Every turn is a row of its own with its own prompt, so `num_generations` is trajectories times turns, and the reward that
TRL sees is the turn's return: credit is assigned in `train.credit`. All verdicts of one turn are awaited together. Groups
whose returns do not differ are masked out of the loss.

With `ahead` a step learns from rollouts that earlier weights wrote, and theirs are judged meanwhile (asynchronous RL off the
policy by so many steps, arXiv 2410.18252). TRL asks for rollouts of its own prompts, but only counts the rows that it gets.

TRL calls `rollout_func` experimental, and two methods that are used here are its own: `_generate_single_turn`, by `generate`,
and `_generate_and_score_completions`, by `_Trainer`.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import datasets
import torch
import trl

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.records.chat import ChatMessage
from kernelwright.train.credit import CREDITS, flat
from kernelwright.train.engine.decoding import Decoding
from kernelwright.train.engine.finite import Finite, sound_attention
from kernelwright.train.engine.network import Network, lora, open_network
from kernelwright.train.engine.sft import save
from kernelwright.train.engine.watch import (
    OURS,
    Heard,
    Watch,
    last_checkpoint,
    micro_batches,
    processes,
    shared_arguments,
    silence,
)
from kernelwright.train.environment import Assignment, Environment, Episode, Step
from kernelwright.train.figures import figures
from kernelwright.train.loop import Loop
from kernelwright.train.recipe import Grpo, Rollout

if TYPE_CHECKING:
    from concurrent.futures import Future

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
REFERENCE = "reference"
"""The policy before its first step, in the run's folder."""
KEPT = 4
"""Rollouts of one step that are kept for people to read."""


class _Row(NamedTuple):
    """One turn of one trajectory."""

    prompt: list[int]
    reply: list[int]
    text: str
    step: Step | None
    """None: the episode had ended, and the row only fills its place."""


class _Turn(NamedTuple):
    """The rows of one turn, as they were written, and the verdicts that are awaited for parts of them."""

    rows: list[_Row]
    judged: "list[tuple[slice, Future[list[Step | None]]]]"


class _Played(NamedTuple):
    """A step's episodes, of which the last turn's verdicts may be missing."""

    tasks: list[Assignment]
    earlier: list[list[_Row]]
    """By episode, then turn."""
    last: _Turn


class Rollouts:
    """What TRL calls for a batch: plays episodes with the policy as it is now."""

    def __init__(
        self, recipe: Grpo, environment: Environment, network: Network, loop: Loop, keep: Callable[[Record], None]
    ) -> None:
        self._recipe, self._environment, self._network = recipe, environment, network
        self._loop, self._keep = loop, keep
        self._by_prompt = {_key(as_dicts(environment.opening(one))): one for one in environment.assignments}
        self._under_way: deque[_Played] = deque()
        self.waited_s = 0.0

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:  # noqa: ANN401  TRL's protocol
        """Rows, as many as there are prompts: each is repeated for every trajectory and turn."""
        recipe, each = self._recipe, self._recipe.trajectories * self._recipe.turns
        began = monotonic()
        tasks = [self._by_prompt[_key(prompts[i])] for i in range(0, len(prompts), each)]
        while len(self._under_way) <= recipe.ahead:
            self._under_way.append(self._play(tasks, trainer))
        oldest = self._under_way.popleft()
        played = self._ended(oldest)
        columns: dict[str, list[Any]] = {name: [] for name in ("prompt_ids", "completion_ids", "ret", "env_mask")}
        for group in played:
            returns = CREDITS[recipe.credit](
                [[r.step.reward if r.step else None for r in t] for t in group], recipe.discount
            )
            dropped = recipe.drop_flat and flat(returns)
            for trajectory, told in zip(group, returns, strict=True):
                for row, value in zip(trajectory, told, strict=True):
                    columns["prompt_ids"].append(row.prompt)
                    columns["completion_ids"].append(row.reply)
                    columns["ret"].append(value)
                    columns["env_mask"].append([int(value is not None and not dropped)] * len(row.reply))
        self._log(played, oldest.tasks, trainer, monotonic() - began)
        return {**columns, "logprobs": None}

    def close(self) -> None:
        """Give up what nobody will learn from."""
        for played in self._under_way:
            for _, verdicts in played.last.judged:
                verdicts.cancel()

    def _play(self, tasks: list[Assignment], trainer: Any) -> _Played:  # noqa: ANN401
        """Play every task's episodes, and let the last turn be judged."""
        episodes = [self._environment.begin(task, seed) for task in tasks for seed in range(self._recipe.trajectories)]
        rows: list[list[_Row]] = [[] for _ in episodes]
        for number in range(self._recipe.turns):
            asked = [
                self._network.prompt_ids(e.prompt) if e.prompt else rows[i][-1].prompt for i, e in enumerate(episodes)
            ]
            turn = self._turn(episodes, asked, trainer)
            if number + 1 < self._recipe.turns:
                for i, row in enumerate(self._known(turn)):
                    rows[i].append(row)
        return _Played(tasks, rows, turn)

    def _ended(self, played: _Played) -> list[list[list[_Row]]]:
        """By task, trajectory and turn."""
        rows = [[*earlier, last] for earlier, last in zip(played.earlier, self._known(played.last), strict=True)]
        count = self._recipe.trajectories
        return [rows[i : i + count] for i in range(0, len(rows), count)]

    def _turn(self, episodes: Sequence[Episode], asked: list[list[int]], trainer: Any) -> _Turn:  # noqa: ANN401
        """Every episode's next row, in waves with rollouts of every group: while one is judged, the next is written."""
        turn = _Turn([_Row(prompt, [], "", None) for prompt in asked], [])
        for first in range(min(self._recipe.waves, len(asked))):
            wave = slice(first, None, self._recipe.waves)
            replies = self._replies(asked[wave], trainer)
            texts = [self._network.tokenizer.decode(ids, skip_special_tokens=True) for ids in replies]
            cut = [ids[-1] != self._network.end for ids in replies]
            turn.judged.append((wave, self._loop.begin(_judged(episodes[wave], texts, cut))))
            turn.rows[wave] = [_Row(*row, None) for row in zip(asked[wave], replies, texts, strict=True)]
        return turn

    def _replies(self, prompts: list[list[int]], trainer: Any) -> list[list[int]]:  # noqa: ANN401
        if self._recipe.cache == "dynamic":
            return generate(trainer, prompts)
        network = self._network._replace(model=trainer.accelerator.unwrap_model(trainer.model))
        longest, temperature = self._recipe.max_new_tokens, self._recipe.temperature
        return Decoding(network, prompts, longest=longest, temperature=temperature).replies()

    def _known(self, turn: _Turn) -> list[_Row]:
        """A turn's rows with their verdicts, which are waited for."""
        since, rows = monotonic(), list(turn.rows)
        for wave, verdicts in turn.judged:
            rows[wave] = [row._replace(step=step) for row, step in zip(rows[wave], verdicts.result(), strict=True)]
        self.waited_s += monotonic() - since
        return rows

    def _log(self, played: list[list[list[_Row]]], tasks: Sequence[Assignment], trainer: Any, spent: float) -> None:  # noqa: ANN401
        steps = [row.step for group in played for t in group for row in t if row.step is not None]
        length = fmean(len(row.reply) for group in played for t in group for row in t)
        times = {"waiting": self.waited_s / max(spent, 1e-9), "waited seconds": self.waited_s, "rollout seconds": spent}
        for name, value in {**figures(steps), "length": length, **times}.items():
            trainer._log_metric(OURS + name, value)
        self.waited_s = 0.0
        number = int(trainer.state.global_step) + 1
        flat_rows = [(task, row) for task, group in zip(tasks, played, strict=True) for t in group for row in t]
        for task, row in flat_rows[:: max(1, len(flat_rows) // KEPT)][:KEPT]:
            if row.step is not None:
                self._keep(_rollout(number, task, row))


def generate(trainer: Any, prompts: list[list[int]]) -> list[list[int]]:  # noqa: ANN401
    """A reply to each prompt by the trainer's own engine: transformers, continuous batching or vLLM. Never empty."""
    ids, _ = trainer._generate_single_turn(prompts, None, {}, 1)
    return [list(one) or [trainer.processing_class.eos_token_id] for one in ids]


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


class _Trainer(trl.GRPOTrainer):  # type: ignore[misc]
    """TRL's, with advantages below zero of a weight of their own."""

    def __init__(self, *, negative: float, **rest: Any) -> None:  # noqa: ANN401  TRL's
        super().__init__(**rest)
        self._negative = negative

    def _generate_and_score_completions(self, inputs: Any) -> Any:  # noqa: ANN401
        made = super()._generate_and_score_completions(inputs)
        made["advantages"] = weighed(made["advantages"], self._negative)
        return made


def weighed(advantages: torch.Tensor, negative: float) -> torch.Tensor:
    """Advantages, float[rows], those below zero times `negative`."""
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
        scale_rewards="none" if recipe.credit == "trloo" else recipe.scale,
        mask_truncated_completions=True,
    )
    openings = [as_dicts(environment.opening(one)) for one in environment.assignments if one.split == recipe.split]
    return _Trainer(
        negative=recipe.negative,
        model=network.model,
        args=settings,
        train_dataset=datasets.Dataset.from_list([{"prompt": one} for one in openings]),
        processing_class=network.tokenizer,
        reward_funcs=[credited],
        rollout_func=rollouts,
        peft_config=lora(recipe.lora_rank),
    )


def credited(ret: list[float | None], **_: object) -> list[float | None]:
    """The reward that TRL sees: the return that the rollouts have worked out."""
    return ret


async def _judged(episodes: Sequence[Episode], texts: Sequence[str], cut: Sequence[bool]) -> list[Step | None]:
    async def one(episode: Episode, text: str, short: bool) -> Step | None:
        return await episode.step(text, short) if episode.prompt else None

    return list(await asyncio.gather(*(one(e, t, c) for e, t, c in zip(episodes, texts, cut, strict=True))))


def as_dicts(messages: tuple[ChatMessage, ...]) -> list[dict[str, str]]:
    """Messages as TRL's data sets have them."""
    return [{"role": message.role, "content": message.text} for message in messages]


def _key(prompt: Sequence[dict[str, str]]) -> str:
    return "\n".join(message["content"] for message in prompt)


def _rollout(number: int, task: Assignment, row: _Row) -> Rollout:
    assert row.step is not None
    info = row.step.info
    return Rollout(
        step=number,
        task=task.task.name,
        turn=info["attempt"].number if "attempt" in info else 0,
        reward=row.step.reward,
        outcome=info["outcome"],
        speedup=info.get("speedup"),
        hack=info.get("hack", ""),
        reply=row.text,
    )
