"""Recipes: every option of a training run, from TOML or JSON, and what its folder holds. Loads no torch.

The recipe is written into the folder and must be the same when the run goes on, but for its length and its means.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError, model_validator

from kernelwright.errors import StoreError, UsageError
from kernelwright.pages import page
from kernelwright.records.base import Record, complaint
from kernelwright.records.policy import Effort, Policy
from kernelwright.store.files import write_whole
from kernelwright.train.structure import Split

RECIPE = "recipe.json"
PROGRESS = "progress.jsonl"
ROLLOUTS = "rollouts.jsonl"
MODEL = "model"
CHECKPOINTS = "checkpoints"
Credit = Literal["group", "kevin", "trloo"]


class Training(Record):
    """What all recipes share."""

    model: str
    """A folder as `save_pretrained` writes it, an adapter's folder, or a `.gguf` file."""
    data: str
    """A data set's folder."""
    steps: int = Field(default=100, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0)
    warmup: int = Field(default=0, ge=0)
    """Steps over which the learning rate rises."""
    decay: bool = True
    """Whether it falls to zero along a cosine; otherwise it stays. Of a run that ends after `seconds` it falls with the time
    that is left, along a line."""
    lora_rank: int = Field(default=0, ge=0)
    """0: all weights are trained."""
    seed: int = 0
    save_every: int = Field(default=50, ge=1)
    """Steps between checkpoints: what a killed run loses at most."""
    seconds: float | None = Field(default=None, gt=0)
    """Stop after so long, with a checkpoint and the model as it is; the same command goes on. None: after all steps."""
    device: Literal["auto", "cpu"] = "auto"
    micro_batch: int = Field(default=16, ge=1)
    """Rows that pass through the model at once; a matter of memory alone."""
    variant: str = "standard"
    """Of the prompts."""


class Sft(Training):
    """Supervised fine-tuning on verified pairs; also rejection-sampling fine-tuning, whose data is the policy's own."""

    kind: Literal["sft"] = "sft"
    role: Literal["frontend", "midend", "coder"] = "frontend"
    forms: int = Field(default=1, ge=1)
    """That random modules are shown in, by turns: as they were written, and others that mean the same. For such alone."""
    copies: int = Field(default=1, ge=1)
    """Times that each sample comes, after the first with another form, other names and other launch and block sizes."""
    batch: int = Field(default=16, ge=1)
    """Rows of one step."""
    max_tokens: int = Field(default=4096, ge=16)
    """Of prompt and reply together; longer rows are left out and counted."""


class Judge(Training):
    """Supervised fine-tuning of a judge: (kernel, profile) to the bottleneck, and the plan that led to a measured gain."""

    kind: Literal["judge"] = "judge"
    batch: int = Field(default=16, ge=1)
    max_tokens: int = Field(default=4096, ge=16)
    least_gain: float = Field(default=1.05, gt=0)
    """Of the child over its parent: plans that led to less teach nothing."""


class Grpo(Training):
    """Reinforcement learning from measured rewards."""

    kind: Literal["grpo"] = "grpo"
    role: Literal["frontend", "midend", "coder"] = "frontend"
    forms: int = Field(default=1, ge=1)
    """As in supervised fine-tuning."""
    split: Split | Literal["all"] = "train"
    """Whose tasks. Those that fine-tuning has seen may be solved already, and then teach nothing; `heldout` has others.
    Measure on neither."""
    reward: str = "verified_speedup"
    target: str | None = None
    """None: the GPU if there is one."""
    effort: Effort = "search"
    """`verify` takes no time; for rewards that pay for none."""
    interpreted: bool = False
    """Whether kernels are judged as if no GPU were here: compiled for it, and run in Triton's interpreter. For `verify`. A GPU
    makes the contexts of workers' processes one after another, and cores interpret side by side."""
    groups: int = Field(default=8, ge=1)
    """Tasks of one step."""
    trajectories: int = Field(default=8, ge=2)
    """Rollouts of each task."""
    turns: int = Field(default=1, ge=1)
    credit: Credit = "group"
    """`kevin`: each turn earns the discounted sum of its own and later rewards (Kevin-32B, arXiv 2507.11948);
    `trloo`: leave-one-out advantages for each task and turn (Dr. Kernel, arXiv 2602.05885)."""
    discount: float = Field(default=0.4, ge=0, le=1)
    by_prefix: bool = False
    """Whether a token also earns by how much it changes what replies that begin like it have earned (TEMPO, arXiv 2509.18314):
    replies to one task share most of their text, and part at the few tokens that decide. For a single turn."""
    demonstrate: bool = False
    """Whether the kernel that the data has for a task takes the place of one reply where none is right, as if the policy had
    written it (LUFFY, arXiv 2504.14945, without its shaping): such a group teaches nothing otherwise. For a single turn."""
    drop_flat: bool = True
    """Groups whose rewards do not differ are left out of the loss, as dynamic sampling does (DAPO, arXiv 2503.14476)."""
    updates: int = Field(default=1, ge=1)
    """Optimizer steps on the rollouts of one step, each a step of its own in the count: verdicts cost more than learning.
    Clipping bounds how far they lead (PPO, arXiv 1707.06347)."""
    negative: float = Field(default=1.0, ge=0, le=1)
    """Weight of advantages below zero. What pushes a wrong reply down takes right ones, which share nearly all of its text,
    along (arXiv 2505.18830); with less of it pass@1 gains at the cost of variety (arXiv 2506.01347)."""
    temperature: float = Field(default=1.0, gt=0)
    max_new_tokens: int = Field(default=1024, ge=8)
    clip_low: float = 0.2
    clip_high: float = 0.28
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL divergence from the model that the run began with."""
    waves: int = Field(default=1, ge=1)
    """Parts in which the rollouts of every group are written: while one is judged, the next is written."""
    ahead: int = Field(default=0, ge=0, le=4)
    """Steps by which writing is ahead of learning: while a step's rollouts are judged, the next ones are written, by weights
    that have not learnt from them."""
    cache: Literal["dynamic", "static"] = "dynamic"
    """Keys and values while replies are written; `static` has room for the longest at once, so that a GPU replays one
    recorded step for every token: for small models, whose steps take longer to launch than to run."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """`sgd`: weights move by their gradients. Adam moves all of them equally far, also those that matter little to the few
    groups that teach something, and what it does to these is chance (arXiv 2602.07729). Rates are a thousand times as high."""
    loss: Literal["dapo", "dr_grpo", "grpo", "cispo"] = "dapo"
    scale: Literal["none", "group", "batch"] = "none"
    workers: int = Field(default=1, ge=1)
    """Referee workers. More than one only with `verify`, or a GPU each."""
    workers_of_task: int = Field(default=1, ge=0)
    """Of them, those that one task's rollouts are dealt out to; each keeps the task open. 0: as many as have room for it."""
    gpus: tuple[str, ...] = ()
    """GPUs of this host that the workers take in turn, each as CUDA_VISIBLE_DEVICES names it; none: the trainer's own."""
    cached: bool = False
    """Whether the trainers' cache is asked first and keeps what is found: runs beside each other time a kernel once."""
    depth: int | None = None
    """Deepest modules; None: all. The curriculum's handle."""
    filters: bool = True
    """Whether hacks earn nothing; off for ablations."""
    policy: Policy = Policy()

    @model_validator(mode="after")
    def _single_turns(self) -> "Grpo":
        if self.turns > 1 and (self.by_prefix or self.demonstrate):
            raise ValueError("by_prefix and demonstrate are for a single turn: set turns to 1")
        return self


Recipe = Annotated[Sft | Grpo | Judge, Field(discriminator="kind")]
RECIPES: TypeAdapter[Recipe] = TypeAdapter(Recipe)


OPEN = (
    "steps", "seconds", "save_every", "waves", "cache", "micro_batch", "workers", "workers_of_task", "gpus", "cached",
)  # fmt: skip
"""Settings of length and of means, which may change while a run goes on."""


class Progress(Record):
    """What one step came to."""

    step: int
    of: int
    seconds: float
    """Since the run, or its continuation, began."""
    figures: dict[str, float]
    """Under the names that the report's curves bear."""


class Rollout(Record):
    """One reply and what became of it, kept for people to read."""

    step: int
    task: str
    turn: int
    reward: float | None
    outcome: str
    speedup: float | None = None
    hack: str = ""
    reply: str


def read_recipe(file: Path | None, flags: Mapping[str, JsonValue]) -> Recipe:
    """A recipe from a TOML file, or from the `recipe.json` of another run, with flags over it.

    Raises:
        UsageError: the file cannot be read, or a setting is unknown or out of bounds; all of them are named.
    """
    try:
        table = _table(file) if file else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"recipe {str(file)!r} is no TOML or JSON file that can be read ({error})") from None
    try:
        return RECIPES.validate_python({**table, **flags})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(p) for p in f['loc'][1:])}: {complaint(f)}" for f in error.errors())
        raise UsageError(
            f"the recipe does not make a run: {faults}. {page('training.md')} lists every setting"
        ) from None


def _table(file: Path) -> dict[str, JsonValue]:
    text = file.read_text(encoding="utf-8")
    return json.loads(text) if file.suffix == ".json" else tomllib.loads(text)


def keep_recipe(folder: Path, recipe: Recipe) -> None:
    """Write the recipe into its folder, or see that it is the one that the folder began with, but for what is `OPEN`.

    Raises:
        StoreError: the folder holds a run of another recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / RECIPE
    if file.exists():
        before = RECIPES.validate_json(file.read_text(encoding="utf-8"))
        others = _others(before, recipe)
        if others:
            raise StoreError(
                f"{folder} holds a run of another recipe: name another folder, or the same settings. There it has {others}"
            )
    write_whole(file, RECIPES.dump_json(recipe, indent=1).decode() + "\n")


def _others(before: Recipe, recipe: Recipe) -> str:
    """The settings that a run has and may not be given other values now."""
    known, asked = before.model_dump(), recipe.model_dump()
    return ", ".join(f"{k} = {v!r}" for k, v in known.items() if k not in OPEN and asked.get(k, asked) != v)
