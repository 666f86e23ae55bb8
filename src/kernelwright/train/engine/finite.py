"""Weights stay numbers: one gradient that is none makes all of them so, and every later reply empty, without a word."""

from typing import Any

import torch
import transformers

from kernelwright.errors import UsageError

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
