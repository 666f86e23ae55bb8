"""Check: judges one kernel that a person wrote, and profiles it on request. Nothing is stored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.engine.events import Phase
from kernelwright.engine.receipts import issue
from kernelwright.engine.request import CheckRequest, ProfileRequest
from kernelwright.engine.summary import CheckSummary, ProfileSummary, check_of
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import CPU, compiled_for, resolve_target
from kernelwright.errors import TaskError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.execution.executor import Place
from kernelwright.export.model_new import unwrap
from kernelwright.feedback.bottleneck import diagnose
from kernelwright.languages import language, too_large
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Compiled, Measured, Verified
from kernelwright.records.receipt import Claim
from kernelwright.records.task import Target, Task, TaskSource
from kernelwright.store.files import write_whole
from kernelwright.tasks.files import read_text
from kernelwright.tasks.kernel_file import made, read_kernel, surely_lacks
from kernelwright.tasks.published.traces import Emitted, trace_files
from kernelwright.tasks.table import read_task


def check(request: CheckRequest, suppliers: Suppliers | None = None) -> CheckSummary:
    """Judge one kernel that a person wrote, measured anew.

    Raises:
        KernelwrightError: the task or the kernel cannot be read, or the referee broke.
    """
    return asyncio.run(_check(request, suppliers or Suppliers()))


async def _check(request: CheckRequest, suppliers: Suppliers) -> CheckSummary:
    async with _admitted(request, suppliers) as (evaluator, task, candidate):
        environment = await evaluator.environment()
        evaluation = await evaluator.evaluate(task, candidate, request.effort)
        if request.receipt is not None:
            claim = Claim(
                task=task,
                candidate=candidate,
                policy=request.policy,
                effort=request.effort,
                environment=environment,
                evaluation=evaluation,
            )
            issue(claim, request.receipt)
        if request.emit is not None:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            told = Emitted(task, request.task, candidate, request.kernel.stem, environment, evaluation, created)
            for path, text in trace_files(request.emit, told).items():
                (request.emit_into / path).parent.mkdir(parents=True, exist_ok=True)
                write_whole(request.emit_into / path, text)
        return check_of(task, environment, candidate, evaluation)


def profile(request: ProfileRequest, suppliers: Suppliers | None = None) -> ProfileSummary:
    """Judge one kernel as in a search, and say where its time goes and what holds it back.

    A kernel that is not right is profiled all the same where it was built: what it does with its time is of use.

    Raises:
        KernelwrightError: the task or the kernel cannot be read, or the referee broke.
    """
    return asyncio.run(_profile(request, suppliers or Suppliers()))


async def _profile(request: ProfileRequest, suppliers: Suppliers) -> ProfileSummary:
    async with _admitted(request, suppliers) as (evaluator, task, candidate):
        found = await evaluator.evaluate(task, candidate)
        suppliers.listener(Phase(text=f"profiling {request.kernel.name}"))
        build = found.build if isinstance(found, Measured | Verified | Compiled) else None
        profile = await evaluator.profile(task, candidate, build)
        statement = diagnose(profile, found if isinstance(found, Measured) else None)
        check = check_of(task, await evaluator.environment(), candidate, found)
        return ProfileSummary(**dict(check), profile=profile, statement=statement)


@asynccontextmanager
async def _admitted(request: ProfileRequest, suppliers: Suppliers) -> AsyncIterator[tuple[Evaluator, Task, Candidate]]:
    """A referee that has admitted the task, and the kernel that it is about to judge."""
    source = _task(request)
    named = request.target or source.limits.arch or None
    candidate = _kernel(request, resolve_target(named, request.place).kind)
    target = _target_for(named, candidate.language, request.place)
    async with suppliers.evaluating(request.policy, request.place) as evaluator:
        suppliers.listener(Phase(text=f"admitting {source.name} on {target.name}"))
        task = await evaluator.admit(source, target)
        suppliers.listener(Phase(text=f"judging {request.kernel.name}"))
        yield evaluator, task, candidate


def _task(request: ProfileRequest) -> TaskSource:
    """The task.

    Raises:
        TaskError: there is none.
        UsageError: it is where the kernel belongs, and the other way round.
    """
    try:
        return read_task(request.task)
    except TaskError:
        with suppress(TaskError):
            read_task(request.kernel)
            raise UsageError(
                f"{str(request.kernel)!r} is the task: it comes first, and the kernel {str(request.task)!r} after it"
            ) from None
        raise


def _kernel(request: ProfileRequest, kind: str) -> Candidate:
    """The kernel in the file, for a kind of device; out of a drop-in that `-o` wrote, as it was judged."""
    path = request.kernel
    exported = unwrap(read_text(path, "kernel")) if path.suffix == ".py" else None
    if exported is not None:
        return exported
    found = read_kernel(path, request.entry, request.workspace_bytes, kind)
    if language(found.language).form == "module":
        _must_define(path, found)
    elif why := too_large(found.source):
        raise UsageError(f"{path}: {why}: no compiler is asked; make it shorter")
    return found


def _must_define(path: Path, candidate: Candidate) -> None:
    """A module must have what it is judged by. Only what is certain is refused; the rest is seen when it is imported.

    Raises:
        UsageError: it has no such thing.
    """
    entry, usual = candidate.entry, language(candidate.language).entry
    # A text whose only model is called as the reference's means that one.
    if surely_lacks(candidate.source, {entry, "Model"} if entry == usual else {entry}):
        has = f"it defines {', '.join(names)}" if (names := made(candidate.source)) else "it defines nothing"
        other = "" if entry != usual or not names else f": call it {usual}, or name it with --entry"
        raise UsageError(f"{path.name} defines no class {entry}; {has}{other}")


def _target_for(name: str | None, written: str, place: Place) -> Target:
    """The target that is named; without a name the device that is here, if the language is for it.

    Raises:
        UsageError: the language is not for the target that is named.
    """
    takes = language(written).targets
    if name is None and takes == (CPU.kind,):
        return CPU
    found = resolve_target(name, place)
    if found.kind in takes:
        return found
    if name is not None:
        raise UsageError(
            f"a {written} kernel is for {' or '.join(takes)}, and the target is {found.name}: leave --target out, or name "
            "another"
        )
    return compiled_for(takes[0])
