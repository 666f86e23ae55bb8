"""What is left of a refusal once rounding is taken off: asked wherever a whole result is compared with fp64.

A channel that a ReLU nearly closes leaves sums that all but cancel: eager's own error of them may be small by luck. A single
sum of both signs comes near nothing now and then, and nothing else says how large its terms were. Where eager's products may
be rounded to TF32, cuDNN rounds some and not others, and a kernel that makes the same products in another layout others.
"""

import torch

from kernelwright.evaluate.session import nudge
from kernelwright.evaluate.session.nudge import Elements
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.verify.compare import Expectation, Expected, Recomputed, Wrong

Judged = tuple[float, Wrong | None]
"""The error of a result, and why it is refused."""


def beside_rounding(
    session: Session, expected: Expectation, elements: Elements, got: torch.Tensor, judged: Judged
) -> Judged:
    """The same of what rounding leaves unexplained of a result; the inputs of its case are in place."""
    error, found = judged
    if found is None or not _may_explain(expected, error, got, session.task.numerics.tf32):
        return judged
    tf32 = session.task.numerics.tf32 and error <= nudge.HARDLY * expected.allowed
    return expected.judge([nudge.beyond(session, elements, got, expected.value, tf32).to(got)])


def _may_explain(expected: Expectation, error: float, got: torch.Tensor, tf32: bool) -> bool:
    """Whether rounding may be why a finite result is refused: what is small beside others, or a sum by itself."""
    if not isinstance(expected, Expected | Recomputed) or not expected.allowed or error == float("inf"):
        return False
    if error > expected.allowed:
        return nudge.explains(error, expected.allowed, got.numel(), tf32)
    return bool(got.numel() <= nudge.ASKED_AGAIN)
