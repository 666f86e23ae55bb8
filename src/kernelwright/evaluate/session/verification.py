"""One case before a loaded candidate: run it, compare every output with fp64, and name what ended it.

Inputs are mapped without write access, so that writing to one is a segmentation fault on the CPU and an illegal address,
which ruins the whole context, on a GPU. Neither tells what happened. So the same call is put once more to a fresh
process that has private copies; what then differs from the grader's inputs was written. It only names a failure that is
already certain: nothing that the process says can make a candidate look better.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.calls import INPUT_WRITTEN, DescribeInputs, Found
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.input_sensitivity import Elements
from kernelwright.evaluate.session.loaded import LoadedCandidate
from kernelwright.evaluate.session.open_ties import forgive
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.verify.compare import Expectation, Expected, Recomputed
from kernelwright.records.evaluation import Incorrect
from kernelwright.records.measure import CaseError

SMALLER = 8
"""How many times smaller than a task's own results are small ones."""
DRAWN_BYTES = 1 << 30
"""Most bytes of a random output's results that a candidate holds at once."""
FAULTS = ("SIGSEGV", "SIGBUS", "illegal memory access", "ILLEGAL_ADDRESS")
"""What a write to read-only memory looks like, among other things."""
FAILURES = (ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KeyError, TypeError, ValueError)
"""What the second process may die of as well: then nothing more is known."""


def verify_case(loaded: LoadedCandidate, case: Case) -> None:
    """Run one case and compare every output.

    Raises:
        OutcomeReached: it is wrong.
        as `ComputeProcess.run`.
    """
    trial, process = loaded.trial, loaded.process
    ran = process.run([trial.session.present(case).offsets], checked=True)
    results = ran.results[0]
    check_form(trial, case.distribution, results)
    for i, (found, expected) in enumerate(zip(results, case.expected, strict=True)):
        if loaded.guarded and trial.policy.defences.guard and not process.guards_intact(found):
            evidence = f"wrote before or behind output {i} of {found.numel} elements"
            raise OutcomeReached(wrong(trial, "guard", case.distribution, evidence))
        got = process.read(found)
        if not trial.policy.defences.compares(trial.session.task.comparator(i).kind):
            continue
        if not trial.policy.defences.poison:
            got = torch.where(torch.isfinite(float8.wide(got)), got, expected.value.to(got.dtype))
        draws = [got] if expected.draws == 1 else _draws(loaded, case, i)
        elements = Elements(i, case.offsets)
        error, found_wrong = forgive(trial.session, expected, elements, got, expected.judge(draws))
        trial.found.cases.append(
            CaseError(
                distribution=case.distribution,
                error=min(error, 1e30),
                reference_error=expected.reference_error,
                allowed=max(expected.allowed, 1e-30),
                output=i if len(results) > 1 else None,
            )
        )
        if found_wrong is not None:
            evidence = f"output {i}: {found_wrong.evidence}{_lost_digits(trial, i, expected, got)}"
            raise OutcomeReached(wrong(trial, found_wrong.because, case.distribution, evidence))


def _lost_digits(trial: Trial, output: int, expected: Expectation, got: torch.Tensor) -> str:
    """That small results err by no more than larger ones may, if so: what a formula with a difference near zero does."""
    usual = trial.session.cases[0].expected[output]
    if not isinstance(expected, Expected | Recomputed) or not isinstance(usual, Expected | Recomputed):
        return ""
    if not got.is_floating_point() or SMALLER * expected.scale > usual.scale:
        return ""
    pairs = zip(pieces.of(float8.wide(got)), pieces.of(expected.value), strict=True)
    most = max((float((g.double() - w).abs().max()) for g, w in pairs if g.numel()), default=float("inf"))
    if not most <= usual.allowed * usual.scale:
        return ""
    return (
        f"; by no more than {most:.2g}, as larger results may be: digits are lost near zero, as where nearly equal numbers "
        "are subtracted"
    )


def _draws(loaded: LoadedCandidate, case: Case, output: int) -> list[torch.Tensor]:
    """As many results as a random output's comparison needs, on the same inputs."""
    trial, process = loaded.trial, loaded.process
    spec, count = trial.session.task.workload.outputs[output], case.expected[output].draws
    together = max(1, min(trial.session.most_calls(), DRAWN_BYTES // max(1, spec.nbytes)))
    found: list[torch.Tensor] = []
    while len(found) < count:
        offsets = trial.session.present(case).offsets
        ran = process.run([offsets] * min(together, count - len(found)), checked=False)
        for call in ran.results:
            check_form(trial, case.distribution, call)
        # A copy: the launcher's results lie where the next ones will.
        found += [process.read(call[output]).clone() for call in ran.results]
    return found


def check_form(trial: Trial, distribution: str, results: tuple[Found, ...]) -> None:
    """Count, dtype and shape, exactly.

    Raises:
        OutcomeReached: one differs.
    """
    outputs = trial.session.task.workload.outputs
    if len(results) != len(outputs):
        evidence = f"{len(results)} outputs, expected {len(outputs)}"
        raise OutcomeReached(wrong(trial, "count", distribution, evidence))
    if not trial.policy.defences.exact_shape:
        return
    for i, (found, spec) in enumerate(zip(results, outputs, strict=True)):
        if found.dtype != spec.dtype:
            raise OutcomeReached(
                wrong(trial, "dtype", distribution, f"output {i} is {found.dtype}, expected {spec.dtype}")
            )
        if found.shape != spec.shape:
            evidence = f"output {i} has shape {list(found.shape)}, expected {list(spec.shape)}"
            raise OutcomeReached(wrong(trial, "shape", distribution, evidence))


def wrong(trial: Trial, because: str, case: str, evidence: str) -> Incorrect:
    """An Incorrect with the cases judged so far."""
    return Incorrect.model_validate(
        {"because": because, "case": case, "evidence": evidence, "accuracy": trial.accuracy}
    )


@contextmanager
def naming_written_inputs(loaded: LoadedCandidate, case: Case) -> Iterator[None]:
    """What ends the computing of a case like a write to read-only memory is looked into.

    Raises:
        OutcomeReached: it was one.
        whatever ended the case, if it was none.
    """
    try:
        yield
    except (ChildGoneError, ChildRaisedError) as error:
        if getattr(error, "name", "") == INPUT_WRITTEN:
            raise OutcomeReached(wrong(loaded.trial, "input_mutated", case.distribution, error.log)) from None
        fault = any(word in f"{error} {error.log}" for word in FAULTS)
        evidence = written_input(loaded, case) if "private" in loaded.respawns and fault else None
        if evidence is None:
            raise
        raise OutcomeReached(wrong(loaded.trial, "input_mutated", case.distribution, evidence)) from None


def written_input(loaded: LoadedCandidate, case: Case) -> str | None:
    """What the candidate writes to, in words; None where it is nothing, or a second process failed as well."""
    session = loaded.trial.session
    try:
        with loaded.respawn("private", case) as again:
            process, case = again.process, session.present(case)
            command = DescribeInputs(offsets=case.offsets, tensors=session.tensors)
            given = case.offsets if loaded.parameters_in_call else case.offsets[: len(session.inputs)]
            process.run([given], checked=False)
            copies = process.ask(command).tensors
            for i, (spec, found) in enumerate(zip(session.tensors, copies, strict=False)):
                if found.shape != spec.shape or found.dtype != spec.dtype:
                    return None
                changes = pieces.difference(process.read(found), session.view(i, case.offsets[i]))
                if changes:
                    kind = "input" if i < len(session.inputs) else "parameter"
                    return f"it writes to its {kind} {spec.name!r}: {changes}"
    except FAILURES:
        return None
    return None
