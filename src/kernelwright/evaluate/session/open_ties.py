"""What may differ because ties are open: PyTorch promises no order of equal values, and other picks derive other results.

A refused result is looked at once more. The reference says what it gives where ties are broken otherwise; an element that
moves with that may lie anywhere between, or as far beyond. A line in which some move is held to what these come to together,
since of sixty-four equal experts no few tries pick each. Where no tie is, nothing moves, and a wrong kernel stays wrong.
"""

import torch

from kernelwright.evaluate.sandbox.messages.calls import PICKS
from kernelwright.evaluate.session import open_edges
from kernelwright.evaluate.session.input_sensitivity import ASKED_AGAIN, Elements, Judged, Nudgeable, forgive_rounding
from kernelwright.evaluate.session.open_edges import between
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.compare import Expectation, Expected, Recomputed
from kernelwright.evaluate.verify.exact import Stepped
from kernelwright.records.graph import UNTRACED
from kernelwright.records.task import Task

CHANCES = 8
"""Tries in which chance picks."""
OPEN = frozenset(("topk", "sort", "argsort", "kthvalue", "median"))
"""Operations among whose equal values PyTorch promises no order."""
KINDS = (Expected, Recomputed, Stepped)
Bounds = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def forgive(session: Nudgeable, expected: Expectation, elements: Elements, got: torch.Tensor, judged: Judged) -> Judged:
    """The same of what neither rounding nor another order of equal values explains; the inputs of its case are in place."""
    judged = forgive_rounding(session, expected, elements, got, judged)
    if judged[1] is None or not isinstance(expected, KINDS) or got.numel() > ASKED_AGAIN:
        return judged
    rest = settled(session, expected, elements, got)
    if rest is None:
        return judged
    return forgive_rounding(session, expected, elements, rest, expected.judge([rest]))


def settled(
    session: Nudgeable, expected: Expected | Recomputed | Stepped, elements: Elements, got: torch.Tensor
) -> torch.Tensor | None:
    """A result made right wherever it is what other picks may come to; None where there is no such element.

    Serial code has edges instead (`open_edges.py`).
    """
    if open_edges.is_serial(session.task):
        return open_edges.settled(session, expected, elements, got)
    if not decides(session.task, elements.output):
        return None
    truth = session.results("fp64", elements.offsets)[elements.output].double()
    low, high = truth, truth
    for pick in (*PICKS[:-1], *PICKS[-1:] * CHANCES):
        there = session.results(pick, elements.offsets)[elements.output].double()
        low, high = torch.minimum(low, there), torch.maximum(high, there)
    least = 0.0 if isinstance(expected, Stepped) else expected.allowed
    moved = (low != high) & (compare.error_of(high, low, compare.scale_of(truth)) > least)
    if not bool(moved.any()):
        return None
    low, high, moved = (elements.pick(v).view(got.shape) for v in _together(low, high, moved))
    mine, value = got.double().to(low.device), expected.value.double().to(low.device).view(got.shape)
    return torch.where(moved & between(mine, low, high, least), value, mine).to(got)


def _together(low: torch.Tensor, high: torch.Tensor, moved: torch.Tensor) -> Bounds:
    """Between which values elements lie: in a line in which some move, between those of all that do."""
    if not low.dim():
        return low, high, moved
    least = low.where(moved, float("inf")).amin(-1, keepdim=True)
    most = high.where(moved, float("-inf")).amax(-1, keepdim=True)
    return least.expand_as(low), most.expand_as(low), moved.any(-1, keepdim=True).expand_as(moved)


def decides(task: Task, output: int) -> bool:
    """Whether an output depends on an operation that leaves ties open, or nobody knows on what."""
    graph = task.graph
    nodes = graph.behind(graph.outputs[output]) if output < len(graph.outputs) else graph.nodes
    return any(node.op == UNTRACED or node.op.removeprefix("aten.").split(".")[0] in OPEN for node in nodes)
