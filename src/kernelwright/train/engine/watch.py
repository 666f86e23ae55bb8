"""What a trainer reports while it works, a line for each step; and weights that stay numbers.

One gradient that is none makes all weights so, and every later reply empty, without a word.
"""

import logging
import math
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import torch
import transformers
from accelerate.utils import broadcast_object_list

from kernelwright.errors import UsageError
from kernelwright.records.base import Record
from kernelwright.train.recipe import CHECKPOINTS, Progress, Training

T = TypeVar("T")
Heard = Callable[[Progress], None]
NAMES = {
    "loss": "loss", "grad_norm": "gradient norm", "learning_rate": "learning rate", "reward": "return",
    "completions/clipped_ratio": "cut off", "kl": "KL", "entropy": "entropy",
    "frac_reward_zero_std": "flat groups", "mean_token_accuracy": "token accuracy", "step_time": "step seconds",
}  # fmt: skip
"""TRL's names, and what a report calls them. Our own metrics bear their names already, behind `kw/`."""
OURS = "kw/"


class Watch(transformers.TrainerCallback):  # type: ignore[misc]
    """Writes `Progress` and passes it on; stops the trainer, with a checkpoint, before a step that there is no time for."""

    def __init__(
        self,
        keep: Callable[[Record], None],
        heard: Heard,
        seconds: float | None = None,
        alike: int = 1,
        since: float | None = None,
    ) -> None:
        """Know the limit, which counts from `since`: rows that are made first take of it too.

        The next step may take as long as any of the last `alike`: one of these writes rollouts.
        """
        self._keep, self._heard, self._seconds = keep, heard, seconds
        self._since = monotonic() if since is None else since
        self._began, self._took = self._since, deque[float](maxlen=alike)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401
        """See `TrainerCallback.on_step_begin`."""
        self._began = monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401
        """See `TrainerCallback.on_step_end`."""
        now = monotonic()
        self._took.append(now - self._began)
        if self._seconds is not None and agreed(now - self._since + max(self._took) > self._seconds):
            control.should_training_stop = control.should_save = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: object) -> None:  # noqa: ANN401
        """See `TrainerCallback.on_log`."""
        figures = {_name(name): float(value) for name, value in (logs or {}).items() if _is_figure(name, value)}
        if not figures:
            return
        made = Progress(step=state.global_step, of=state.max_steps, seconds=monotonic() - self._since, figures=figures)
        self._keep(made)
        self._heard(made)


class FallsWithTime:
    """A trainer whose learning rate falls with the time that is left: how many steps there will be is not known then."""

    kw_recipe: Training
    kw_since: float

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:  # noqa: ANN401
        """See `transformers.Trainer.create_scheduler`."""
        recipe, began = self.kw_recipe, monotonic()
        trainer: Any = self
        if not recipe.decay or recipe.seconds is None:
            return super().create_scheduler(num_training_steps, optimizer)  # type: ignore[misc]
        whole = max(1.0, recipe.seconds - (began - self.kw_since))
        trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer or trainer.optimizer,
            lambda step: rate_share(step, recipe.warmup, agreed((monotonic() - began) / whole)),
        )
        trainer._created_lr_scheduler = True
        return trainer.lr_scheduler


def rate_share(step: int, warmup: int, spent: float) -> float:
    """Share of the learning rate at a step, when so much of the time is spent."""
    return min(1.0, (step + 1) / max(1, warmup)) * max(0.0, 1.0 - spent)


def shared_arguments(recipe: Training, folder: Path) -> dict[str, Any]:
    """Arguments that every trainer of TRL takes, from a recipe."""
    cpu = recipe.device == "cpu" or not _gpu()
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": recipe.steps,
        "learning_rate": recipe.learning_rate,
        "warmup_steps": recipe.warmup,
        "lr_scheduler_type": "cosine" if recipe.decay else "constant_with_warmup",
        "seed": recipe.seed,
        "save_steps": recipe.save_every,
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": _boards(),
        "disable_tqdm": True,
        "use_cpu": cpu,
        "bf16": not cpu,
        "gradient_checkpointing": False,
        "max_grad_norm": 1.0,
        "dataloader_pin_memory": not cpu,
    }


def processes() -> int:
    """How many processes train together: those that `accelerate launch` or `torchrun` started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def agreed(value: T) -> T:
    """The first process's value in all of them, each of which must ask: several clocks would end runs at several steps."""
    return value if processes() == 1 else broadcast_object_list([value])[0]


def micro_batches(rows: int, most: int) -> tuple[int, int]:
    """Rows that pass through one process at once, and how often, for so many rows of all processes.

    Raises:
        UsageError: the processes cannot have equally many.
    """
    each, left = divmod(rows, processes())
    if left or not each:
        raise UsageError(
            f"a step of {rows} rows cannot be dealt out to {processes()} processes equally: choose a multiple"
        )
    micro = next(size for size in range(min(most, each), 0, -1) if each % size == 0)
    return micro, each // micro


def silence(trainer: Any) -> None:  # noqa: ANN401  either of TRL's trainers
    """No words of the trainer's own: `Watch` tells what there is to tell."""
    for loud in (transformers.PrinterCallback, transformers.ProgressCallback):
        trainer.remove_callback(loud)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # It prints the whole prompt of each row without a reward; `unjudged` counts them.
    logging.getLogger("trl.trainer.grpo_trainer").setLevel(logging.ERROR)


def last_checkpoint(folder: Path) -> str | None:
    """The latest checkpoint that was written whole; None: there is none. The state is what a trainer writes last."""
    found = [file.parent for file in (folder / CHECKPOINTS).glob("checkpoint-*/trainer_state.json")]
    return str(max(found, key=lambda one: int(one.name.rpartition("-")[2]))) if found else None


def _gpu() -> bool:
    import torch  # noqa: PLC0415  asked for late, so that a test can say there is none

    return bool(torch.cuda.is_available())


def _boards() -> list[str]:
    """TensorBoard, where it is installed."""
    from importlib.util import find_spec  # noqa: PLC0415

    return ["tensorboard"] if find_spec("tensorboard") or find_spec("tensorboardX") else []


def _is_figure(name: str, value: object) -> bool:
    known = name in NAMES or name.startswith(OURS)
    return known and isinstance(value, int | float) and math.isfinite(value)


def _name(name: str) -> str:
    return NAMES.get(name, name.removeprefix(OURS))


MOST = 3
"""Steps in a row whose gradients are dropped, before a run ends."""


class Finite(transformers.TrainerCallback):  # type: ignore[misc]
    """Drops the gradients of a step if they are not finite; ends the run where that goes on."""

    def __init__(self) -> None:
        self._dropped = 0

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: object) -> None:  # noqa: ANN401
        """See `TrainerCallback.on_pre_optimizer_step`: a parameter without a gradient stays as it is.

        Raises:
            UsageError: no step of the last few had finite gradients.
        """
        if is_finite(model):
            self._dropped = 0
            return
        model.zero_grad(set_to_none=True)
        self._dropped += 1
        if self._dropped >= MOST:
            raise UsageError(
                f"gradients of steps {state.global_step - MOST + 2} to {state.global_step + 1} are infinite or not numbers, "
                "and the weights are as they were before them: lower learning_rate, or go on from an earlier checkpoint"
            )


def is_finite(model: Any) -> bool:  # noqa: ANN401
    """Whether every gradient is; the device is asked once."""
    norms = [one.grad.norm() for one in model.parameters() if one.grad is not None]
    return not norms or bool(torch.stack([norm.to(norms[0].device) for norm in norms]).isfinite().all())


def sound_attention() -> None:
    """Leave cuDNN's attention out.

    Its backward pass gives queries gradients that are no numbers where a mask is given, rows are 64 beyond a multiple of 128
    long, and scores are low (pytorch/pytorch#196678; torch 2.11 and later, H100 and H200). GRPO's rows have any length.
    """
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
