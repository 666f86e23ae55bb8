"""The precision of fp32 arithmetic in torch, the same in every process that is timed or that says what is right."""

import torch


def full() -> None:
    """TF32 nowhere: torch leaves it on in convolutions. A task or a candidate that wants it says so in its own code."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def told() -> str:
    """The flags in force, as they are written beside a measurement."""
    matmul = torch.get_float32_matmul_precision()
    return f"float32_matmul_precision={matmul}, cudnn.allow_tf32={torch.backends.cudnn.allow_tf32}"
