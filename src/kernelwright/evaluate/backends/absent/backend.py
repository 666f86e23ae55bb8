"""A device that is not here: compile for it, and let an interpreter say whether the kernel is right.

The outcome is `Verified` with what it was verified on, or `Compiled` when the interpreter cannot run the kernel; nothing
interprets CUDA C++. No time is claimed, by anything.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernelwright.evaluate.backends.backend import NO_KERNELS, CloseOldest, Loaded, Prepared, Reference
from kernelwright.evaluate.backends.cpu.backend import host_of, reference_process
from kernelwright.evaluate.backends.cpu.memory import HostMemory
from kernelwright.evaluate.backends.cuda.versions import toolkit_versions
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.backends.parents import ENTRYPOINTS, NO_GPU, parent_of
from kernelwright.evaluate.languages.artifact import Library, Program
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.languages.triton.build import at_home
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.evaluate.sandbox.messages.calls import WITHOUT_KERNELS, Found, LoadInterpreted, Ran, ReduceTask, Run
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session import limits
from kernelwright.evaluate.session.cases import Case, OriginalTask
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import names_for
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Compiled, Crashed, Evaluation, Refused, TimedOut
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, Profile, compiled
from kernelwright.records.task import Task
from kernelwright.records.tensor import TensorSpec

SLOWER = 4.0
"""How many times as long as on its device a call may take in an interpreter, at a size that it can bear."""
INTERPRETING = ("torch._dynamo", f"{ENTRYPOINTS}.interpreted")
INTERPRET = {"TRITON_INTERPRET": "1"}
"""Triton reads it when it is imported, which torch._dynamo does: the interpreter's children have a parent of their own."""
NOT_AT_THESE = (
    "an interpreter can bear {}, where it launches no kernel; at a smaller size of the task it can be verified"
)
"""Of a kernel for its task's own shapes alone."""


def open_backend(cpu: Callable[[], Host]) -> "AbsentBackend":
    """See `table.Row`: NVIDIA's GPUs, compiled for by NVIDIA's compilers."""
    return AbsentBackend(parent_of("absent"), names_for("cuda"), toolkit_versions)


class AbsentBackend:
    """Implements `Backend` on this machine's CPU, for whatever device the languages' cross compilers know."""

    clock = None
    is_gpu = True

    def __init__(self, parent: Warm, languages: tuple[str, ...], versions: Callable[[], dict[str, str]]) -> None:
        """Start nothing yet."""
        self.languages, self._versions = languages, versions
        self.host = host_of(parent, len(os.sched_getaffinity(0)))
        self._interpreting = Warm(INTERPRETING, INTERPRET | NO_GPU)

    def versions(self) -> dict[str, str]:
        """See `Backend.versions`: of the compilers."""
        return self._versions()

    def reference(self, policy: Policy) -> Reference:
        """See `Backend.reference`: it computes here, at a size that an interpreter can bear."""
        process = reference_process(self.host, policy)

        def opened(original: OriginalTask, close_oldest: CloseOldest) -> Session:
            task = original.task
            reduced = process.ask(ReduceTask(workload=task.workload))
            small = task.model_copy(update={"workload": reduced.workload})
            original = OriginalTask(task, reduced.init, reduced.description)
            return Session(original, small, process, policy, HostMemory(small, process, policy))

        return Reference(process, opened)

    def activate(self, session: Session) -> None:
        """Sessions do not get in each other's way."""

    @contextmanager
    def prepared(self, trial: Trial) -> Iterator[Prepared]:
        """See `Backend.prepared`."""
        facts = _cross_compiled(trial, self.host)
        yield Prepared(facts, lambda: self._loaded(trial, facts))

    @contextmanager
    def _loaded(self, trial: Trial, facts: BuildFacts) -> Iterator[Loaded]:
        """In an interpreter. What it says of the kernel is more than a process that ended."""
        session = trial.session
        limit_s = SLOWER * trial.policy.run_limit_s
        jail = trial.jail().model_copy(update={"environment": INTERPRET})
        with trial.timed("verify"):
            child = CandidateProcess(self._interpreting.spawn("interpreted", at_home(jail)), limit_s)
        try:
            with trial.timed("verify"):
                starts, descriptors = session.share()
                command = LoadInterpreted(
                    starts=starts,
                    candidate=trial.candidate,
                    workload=session.task.workload,
                    init=session.original.init_source(),
                    arch=session.task.target.arch,
                    files=descriptors,
                )
                child.ask(command)
            how = f"Triton's interpreter on {session.original.reduction or 'full shapes'}"
            yield Loaded(child, facts, guarded=False, how=how, decoration=lambda: _decoration(trial, child, facts))
        except ChildRaisedError as raised:
            raise OutcomeReached(_fault(trial, raised, facts)) from None
        except ChildSlowError:
            raise OutcomeReached(TimedOut(stage=trial.stage, limit_s=limit_s)) from None
        finally:
            child.close()

    def profile(self, trial: Trial, build: BuildFacts | None) -> Profile:
        """See `Backend.profile`: nothing is run."""
        return unseen(trial.task, trial.candidate, build)

    def close(self) -> None:
        """End its parents."""
        self.host.close()
        self._interpreting.close()


def _cross_compiled(trial: Trial, host: Host) -> BuildFacts:
    """What the compiler says of the candidate.

    Raises:
        OutcomeReached: it does not build, breaks a limit, or nothing interprets its language.
        as `Builder.cross_compile`.
    """
    allowed, builder = trial.task.source.limits, BUILDERS[trial.candidate.language]
    with trial.timed("compile"):
        made = builder.cross_compile(trial.order(host.warm))
        if isinstance(made, BuildFailed | Refused):
            raise OutcomeReached(made)
        if isinstance(made, Library):
            made.close()
        if isinstance(made, Program) and (over := limits.of_program(allowed, made)) is not None:
            raise OutcomeReached(over)
    assert made.facts is not None
    trial.facts = made.facts
    over = limits.of_facts(allowed, trial.candidate, made.facts, builder.OWN_HOST)
    if over is not None:
        raise OutcomeReached(over)
    if trial.policy.library_calls == "forbid" and builder.INTERPRETED and not made.facts.kernels:
        raise OutcomeReached(Refused(reason=NO_KERNELS))
    if not builder.INTERPRETED:
        raise OutcomeReached(Compiled(build=made.facts))
    return made.facts


def _decoration(trial: Trial, child: CandidateProcess, facts: BuildFacts) -> str:
    """Why its kernels are there for show alone: without them the result is right too, or they are given it. Else empty.

    What a launch is given counts only if it is right in every case: an input may be the result in one.

    Raises:
        OutcomeReached: it launches kernels at its task's shapes alone, and something else serves the reduced ones.
    """
    cases = trial.session.cases if facts.kernels else ()
    ways = {"result": "without its own kernels the result is right too", "given": "its kernels are given the result"}
    for case in cases:
        trial.session.present(case)
        ran = _without_kernels(child, case)
        if ran and not ran.launches and trial.session.task.workload != trial.task.workload:
            raise OutcomeReached(Compiled(build=facts, why=NOT_AT_THESE.format(trial.session.original.reduction)))
        if any(expected.draws > 1 for expected in case.expected):
            return ""
        found = _right_without(trial, child, case, ran) if ran else frozenset()
        ways = {way: told for way, told in ways.items() if way in found}
        if not ways or "result" in ways:
            break
    told = next(iter(ways.values()), "") if cases else ""
    return f"{told}: something else does the work" if told else ""


def _without_kernels(child: CandidateProcess, case: Case) -> Ran | None:
    """A call in which no kernel runs; None where it fails then."""
    try:
        return child.ask(Run(calls=[case.offsets], variant=WITHOUT_KERNELS))
    except ChildRaisedError:
        return None


def _right_without(trial: Trial, child: CandidateProcess, case: Case, ran: Ran) -> frozenset[str]:
    """What is right although no kernel ran: the `result`, or what launches were `given`."""
    results, given = (*ran.results, (), ())[:2]
    wanted = list(zip(trial.session.task.workload.outputs, case.expected, strict=True))
    if len(results) == len(wanted) and all(_right(child, one, *of) for one, of in zip(results, wanted, strict=True)):
        return frozenset({"result"})
    return frozenset({"given"} if all(any(_right(child, one, *of) for one in given) for of in wanted) else ())


def _right(child: CandidateProcess, found: Found, spec: TensorSpec, expected: Expectation) -> bool:
    if (found.dtype, found.numel) != (spec.dtype, spec.numel):
        return False
    return expected.judge([child.read(found).view(spec.shape)])[1] is None


def _fault(trial: Trial, raised: ChildRaisedError, facts: BuildFacts) -> Evaluation:
    kind = raised.name.removeprefix("fault ")
    if kind == "unsupported":
        told = f"cannot be interpreted: {raised.log}"
        return Compiled(build=facts.model_copy(update={"warnings": told}), why=f"it {told.strip().splitlines()[-1]}")
    if kind == "build":
        return BuildFailed(log=raised.log)
    return Crashed(stage=trial.stage, reason=kind.replace("_", " "), log=raised.log)


def unseen(task: Task, candidate: Candidate, build: BuildFacts | None) -> Profile:
    """For a device that is not here: the compiler's facts beside the vendor's figures."""
    facts = hardware(task.target.arch)
    published = Ceilings(
        origin="published",
        read_gbps=facts.bandwidth_gbps,
        fp32_tflops=facts.fp32_tflops,
        tf32_tflops=facts.tf32_tflops,
        bf16_tflops=facts.bf16_tflops,
    )
    note = f"{task.target.arch} is not here: nothing was run, and ceilings are published ones of {facts.device}"
    placed = {"bytes": task.workload.compulsory_bytes, "flops": task.graph.flops, "ceilings": published}
    placed["multiprocessors"] = facts.multiprocessors
    return compiled(task.id, candidate.id, task.target.arch, build, note).model_copy(update=placed)
