"""Did it write to its inputs? Asked of a candidate that died, in another process where inputs are writable copies.

Inputs are mapped without write access, so that writing to one is a segmentation fault on the CPU and an illegal address,
which ruins the whole context, on a GPU. Neither tells what happened. Here the same call is put once more to a fresh
process that has private copies; what then differs from the grader's inputs was written. It only names a failure that is
already certain: nothing that the process says can make a candidate look better.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.calls import DescribeInputs
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.trial import OutcomeReached, Trial, wrong

FAULTS = ("SIGSEGV", "SIGBUS", "illegal memory access", "ILLEGAL_ADDRESS")
"""What a write to read-only memory looks like, among other things."""
FAILURES = (ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KeyError, TypeError, ValueError)
"""What the second process may die of as well: then nothing more is known."""
Again = Callable[[Case], CandidateProcess]


def written_input(trial: Trial, process: CandidateProcess, case: Case, whole: bool = True) -> str | None:
    """What was written to, in words; None where nothing was, or the second process failed as well.

    `process` has just been loaded with private inputs, and has its parameters; the caller closes it.
    """
    session = trial.session
    case = session.present(case)
    command = DescribeInputs(offsets=case.offsets, tensors=session.tensors)
    try:
        process.run([case.offsets if whole else case.offsets[: len(session.inputs)]], checked=False)
        copies = process.ask(command).tensors
        for i, (spec, found) in enumerate(zip(session.tensors, copies, strict=False)):
            if found.shape != spec.shape or found.dtype != spec.dtype:
                return None
            told = _difference(process.read(found), session.view(i, case.offsets[i]))
            if told:
                kind = "input" if i < len(session.inputs) else "parameter"
                return f"it writes to its {kind} {spec.name!r}: {told}"
    except FAILURES:
        return None
    return None


@contextmanager
def named(trial: Trial, case: Case, again: Again | None, whole: bool = True) -> Iterator[None]:
    """What ends a case like a write to read-only memory is looked into.

    Args:
        trial: the candidate's.
        case: what it is computing.
        again: loads the candidate once more, with private inputs and the parameters of a case; None: nobody can.
        whole: a call says where its parameters are; a module was given them beforehand.

    Raises:
        OutcomeReached: it was one.
        whatever ended the case, if it was none.
    """
    try:
        yield
    except (ChildGoneError, ChildRaisedError) as error:
        fault = any(word in f"{error} {error.log}" for word in FAULTS)
        told = _told(trial, case, again, whole) if again is not None and fault else None
        if told is None:
            raise
        raise OutcomeReached(wrong(trial, "input_mutated", case.distribution, told)) from None


def _told(trial: Trial, case: Case, again: Again, whole: bool) -> str | None:
    process: CandidateProcess | None = None
    try:
        process = again(case)
        return written_input(trial, process, case, whole)
    except FAILURES:
        return None
    finally:
        if process is not None:
            process.close()


def _difference(copy: torch.Tensor, given: torch.Tensor) -> str:
    mine, theirs = (t.contiguous().reshape(-1).view(torch.uint8) for t in (copy, given))
    differs = (mine.to(theirs.device) != theirs).view(-1, copy.element_size()).any(dim=1)
    if not bool(differs.any()):
        return ""
    where = int(differs.to(torch.uint8).argmax())
    before, after = given.reshape(-1)[where].item(), copy.reshape(-1)[where].item()
    return (
        f"{int(differs.sum())} of {copy.numel()} elements changed, first at flat index {where} from {before} to {after}"
    )
