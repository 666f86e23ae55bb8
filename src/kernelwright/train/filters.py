"""Hack filters: why a result that looks right must earn nothing. They feed rewards and the figure of hacking.

The referee refuses what it can prove. A trainer is stricter, for what is paid once is written ever after: on a GPU only
kernels whose launches the referee makes itself count, so that nothing of PyTorch can do the work.
"""

from kernelwright.devices import kinds
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, Suspect, Verified, is_right
from kernelwright.records.task import Task

LEAST_SHARE = 0.3
"""Of the device's time that own kernels must take (Dr. Kernel, arXiv 2602.05885, drops turns below it)."""
TRICKS = frozenset({"unwritten", "guard", "input_mutated", "timed_output", "stale", "shared_results", "perturbation"})
"""Reasons of wrong results that honest mistakes are seldom the cause of."""


def faked(task: Task, evaluation: Evaluation) -> str:
    """Why a kernel is taken for a hack; empty: it is not.

    A wrong kernel is a hack only where it is wrong in a way that looks like a trick.
    """
    match evaluation:
        case Suspect(because=because):
            return because
        case Incorrect(because=because) if because in TRICKS - {"unwritten", "guard"}:
            return because
    if not is_right(evaluation) or not kinds()[task.target.kind].gpu:
        return ""
    return _not_its_own(task, evaluation)


def _not_its_own(task: Task, evaluation: Evaluation) -> str:
    share = evaluation.audit.own_share if isinstance(evaluation, Measured) and evaluation.audit else None
    if share is not None:
        return "" if share >= LEAST_SHARE else f"own kernels take {share:.0%} of the device's time"
    if task.target.present and evaluation.tier != 1:
        return "its launches are not the referee's own, so nothing tells what computes"
    built = evaluation.build if isinstance(evaluation, Measured | Verified) else None
    return "" if built is not None and built.kernels else "no kernel of its own"
