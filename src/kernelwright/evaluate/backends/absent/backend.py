"""A device that is not here: compile for it, and let an interpreter say whether the kernel is right.

The outcome is `Verified` with what it was verified on, or `Compiled` when the interpreter cannot run the kernel; nothing
interprets CUDA C++. No time is claimed, by anything.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Lock

from kernelwright.evaluate.backends.backend import NO_KERNELS, BuiltCandidate, CloseOldest
from kernelwright.evaluate.backends.cpu.backend import host_of, host_reference
from kernelwright.evaluate.backends.cpu.memory import HostMemory
from kernelwright.evaluate.backends.cuda.versions import toolkit_versions
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.backends.table import NO_GPU, parent_of
from kernelwright.evaluate.languages.builder import Library, Program
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.languages.triton.build import at_home
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess, TimedRun, of_all
from kernelwright.evaluate.sandbox.messages.calls import WITHOUT_KERNELS, ExportGraph, Found, Ran, ReduceTask, Run
from kernelwright.evaluate.sandbox.messages.candidates import Examine, LoadInterpreted
from kernelwright.evaluate.sandbox.messages.entrypoints import MODULES
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.sandbox.process import USUAL, ChildRaisedError, ProcessOptions
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session import limits
from kernelwright.evaluate.session.cases import Case, OriginalTask
from kernelwright.evaluate.session.loaded import LoadedCandidate
from kernelwright.evaluate.session.session import Session, Size
from kernelwright.evaluate.session.trial import FAILURES, OutcomeReached, Trial
from kernelwright.evaluate.triton.reduce import ELEMENTS, cost, elements
from kernelwright.evaluate.verify.compare import Expectation
from kernelwright.execution import job
from kernelwright.knowledge.hardware import hardware
from kernelwright.languages import names_for
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Compiled, Crashed, Evaluation, Refused
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, Profile, compiled
from kernelwright.records.reasons import gist
from kernelwright.records.task import Task, TaskSource
from kernelwright.records.tensor import TensorSpec

SLOWER = 4.0
"""How many times as long as on its device a call may take in an interpreter, at a size that it can bear."""
INTERPRETING = ("torch._dynamo", MODULES["interpreted"])
INTERPRET = {"TRITON_INTERPRET": "1"}
"""Triton reads it when it is imported, which torch._dynamo does: the interpreter's children have a parent of their own."""
NOT_AT_THESE = (
    "it is for its task's shapes alone, which are more than an interpreter can bear; on {} it launches no kernel"
)
INTERPRETED_ON = "Triton's interpreter on {}"
NOTHING_IN_FULL = "at full size nothing: an interpreter had not finished some programs after {:g} s of its own time"
UNFINISHED = "an interpreter had not finished a call on {} after {:g} s of its own time, so that nothing is known of it"
PATIENCE = 10.0
"""How many times its time an interpreter may take where other work keeps it from running."""
ENOUGH_S = 150.0
"""Seconds of an interpreter's time after which no further case is begun."""
LEAST, MOST = ELEMENTS >> 4, ELEMENTS << 6
"""Elements of a task's first smaller size, and of the largest that is interpreted."""
SMALLER, STEPS = 8, 3
"""By how much each smaller size is at least, and how many there are."""


def open_backend(cpu: Callable[[], Host]) -> "AbsentBackend":
    """See `table.Row`: NVIDIA's GPUs, compiled for by NVIDIA's compilers."""
    return AbsentBackend(parent_of("absent"), names_for("cuda"), toolkit_versions)


class AbsentBackend:
    """Implements `Backend` on this machine's CPU, for whatever device the languages' cross compilers know."""

    clock = None
    is_gpu = True
    most_bytes = 1 << 28

    def __init__(self, parent: Warm, languages: tuple[str, ...], versions: Callable[[], dict[str, str]]) -> None:
        """Start nothing yet."""
        self.languages, self._versions = languages, versions
        self.host = host_of(parent, len(os.sched_getaffinity(0)), timed=False)
        self._interpreting = Warm(INTERPRETING, INTERPRET | NO_GPU)

    def versions(self) -> dict[str, str]:
        """See `Backend.versions`: of the compilers."""
        return self._versions()

    def reference(self, source: TaskSource, policy: Policy, close_oldest: CloseOldest) -> ComputeProcess:
        """See `Backend.reference`: it computes here."""
        options = ProcessOptions(aside=self.host.device_lock.aside) if source.serial else USUAL
        return host_reference(self.host, policy, options)

    def session(
        self, original: OriginalTask, reference: ComputeProcess, policy: Policy, close_oldest: CloseOldest
    ) -> Session:
        """See `Backend.session`: at a size that an interpreter can bear."""
        session = _at_size(original, reference, policy, ELEMENTS)
        _OtherSizes(original, policy, lambda: self.reference(original.task.source, policy, close_oldest)).of(session)
        return session

    def activate(self, session: Session) -> None:
        """Sessions do not get in each other's way."""

    @contextmanager
    def prepared(self, trial: Trial) -> Iterator[BuiltCandidate]:
        """See `Backend.prepared`."""
        facts = _cross_compiled(trial, self.host)
        yield BuiltCandidate(facts, lambda: self._loaded(trial, facts))

    @contextmanager
    def _loaded(self, trial: Trial, facts: BuildFacts) -> Iterator[LoadedCandidate]:
        """In an interpreter. What it says of the kernel is more than a process that ended."""
        limit_s = SLOWER * trial.policy.run_limit_s
        with ExitStack() as stack:
            try:
                with trial.timed("verify"):
                    loaded = self._spawned(trial, limit_s, facts, stack)
                    if not loaded.has_examined():
                        loaded = self._spawned(trial, limit_s, facts, stack)
                        loaded.says(f"{loaded.on}; {NOTHING_IN_FULL.format(limit_s)}")
                yield loaded
            except ChildRaisedError as raised:
                raise OutcomeReached(_fault(trial, raised, facts)) from None
            except ChildSlowError:
                trial.found.elsewhere = "smaller"
                told = UNFINISHED.format(_shapes(trial.session), limit_s)
                raise OutcomeReached(Compiled(build=facts, why=told)) from None

    def _spawned(self, trial: Trial, limit_s: float, facts: BuildFacts, stack: ExitStack) -> "InterpretedCandidate":
        jail = trial.jail().model_copy(update={"environment": INTERPRET})
        process = InterpretedProcess(self._interpreting.spawn("interpreted", at_home(jail)), limit_s)
        stack.callback(process.close)
        process.child.patience = PATIENCE
        return InterpretedCandidate(trial, process, facts)

    def profile(self, trial: Trial, build: BuildFacts | None) -> Profile:
        """See `Backend.profile`: nothing is run."""
        return unseen(trial.task, trial.candidate, build)

    def close(self) -> None:
        """End its parents."""
        self.host.close()
        self._interpreting.close()


class _OtherSizes:
    """A task's sessions at sizes that few kernels ask for, each with a reference of its own, opened when it is asked for.

    Each smaller one has a smaller one still, `steps` of them in all.
    """

    def __init__(
        self, original: OriginalTask, policy: Policy, reference: Callable[[], ComputeProcess], steps: int = STEPS
    ) -> None:
        self._original, self._policy, self._reference, self._steps = original, policy, reference, steps
        self._known: dict[Size, Session | None] = {}
        self._lock = Lock()

    def of(self, session: Session) -> None:
        """They are this session's."""
        self._workload = session.task.workload
        session.others, session.closes = self.find, self.close

    def find(self, size: Size) -> Session | None:
        """See `Session.others`."""
        with self._lock:
            if size not in self._known:
                self._known[size] = self._opened(size)
            return self._known[size]

    def _opened(self, size: Size) -> Session | None:
        # Few cases are judged there, so that each is of another kind.
        task, policy = self._original.task, self._policy.model_copy(update={"seeds": 1})
        first = self._steps == STEPS
        if not (first and elements(task.workload) <= MOST if size == "full" else self._steps):
            return None
        aim = min(LEAST, cost(self._workload) // SMALLER) if size == "smaller" else None
        process = self._reference()
        try:
            loaded = LoadTask(
                source=task.source.source,
                threads=1,
                numerics=policy.numerics,
                state=policy.state,
                most_bytes=AbsentBackend.most_bytes,
            )
            process.ask(loaded)
            process.ask(ExportGraph(sizes=False))
            session = _at_size(self._original, process, policy, aim)
        except FAILURES:
            # What the reference cannot bear at another size is no fault of a candidate's.
            process.close()
            return None
        process.trust(f"the reference of {task.source.name!r}")
        if size == "smaller":
            if cost(session.task.workload) >= cost(self._workload):
                session.close()
                return None
            _OtherSizes(self._original, self._policy, self._reference, self._steps - 1).of(session)
        return session

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            for session in self._known.values():
                if session is not None:
                    session.close()


def _at_size(original: OriginalTask, reference: ComputeProcess, policy: Policy, most: int | None) -> Session:
    """A session of the task made small until it has about so many elements; None: as it is."""
    task = original.task
    if most is not None:
        reduced = reference.ask(ReduceTask(workload=task.workload, elements=most))
        task = task.model_copy(update={"workload": reduced.workload})
        original = OriginalTask(
            original.task, reduced.init, reduced.description, infinite=original.infinite, full_init=original.init
        )
    return Session(original, task, reference, policy, HostMemory(task, reference, policy))


def _shapes(session: Session) -> str:
    return session.original.reduction or "full shapes"


class InterpretedProcess(ComputeProcess):
    """A child that interprets a kernel; its results lie where it puts them."""

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """See `ComputeProcess.run`."""
        ran, response = self.put(Run(calls=calls, variant=variant))
        return TimedRun(of_all(ran.results, len(calls)), response.outside_ns, max(1, ran.ns))


class InterpretedCandidate(LoadedCandidate):
    """A kernel in an interpreter."""

    process: InterpretedProcess
    guarded = False

    def __init__(self, trial: Trial, process: InterpretedProcess, facts: BuildFacts) -> None:
        """Have the process load it.

        Raises:
            as `ComputeProcess.ask`.
        """
        self.trial, self.process, self.facts = trial, process, facts
        session = trial.session
        starts, descriptors = session.share()
        command = LoadInterpreted(
            starts=starts,
            candidate=trial.candidate,
            workload=session.task.workload,
            init=session.original.init_source(),
            arch=session.task.target.arch,
            files=descriptors,
        )
        process.ask(command)
        self.says(_shapes(session))

    def says(self, seen: str) -> None:
        """Tell what it has been run on."""
        self.on, self.verified_on = seen, INTERPRETED_ON.format(seen)

    def has_examined(self) -> bool:
        """Look at what only the full size shows; false if that took too long, which ends the process.

        A few programs of a large launch may take longer than all of a small one.

        Raises:
            as `ComputeProcess.ask`, but for its limit.
        """
        original, task = self.trial.session.original, self.trial.task
        if task.workload != self.trial.session.task.workload:
            try:
                full = self.process.ask(Examine(workload=task.workload, init=original.init_source(full=True)))
            except ChildSlowError:
                return False
            self.says(f"{self.on}; {full.words}")
        return True

    def skips(self, distribution: str) -> str:
        """See `LoadedCandidate.skips`: a slow kernel is judged by the cases for which there is time."""
        spent_s = self.process.child.cpu_ns / 1e9
        if spent_s <= ENOUGH_S:
            return ""
        left_out = len(self.trial.found.skipped) + 1
        self.verified_on = INTERPRETED_ON.format(f"{self.on}; for lack of time without {left_out} cases")
        return f"left out, since an interpreter took {spent_s:.0f} s for those before"

    def decoration(self) -> str:
        """Why its kernels are there for show alone: without them the result is right too, or they are given it. Else empty.

        What a launch is given counts only if it is right in every case: an input may be the result in one.

        Raises:
            OutcomeReached: it launches kernels at its task's shapes alone, and something else serves the reduced ones.
        """
        trial = self.trial
        cases = trial.session.cases if self.facts.kernels else ()
        ways = {
            "result": "without its own kernels the result is right too",
            "given": "its kernels are given the result",
        }
        for number, case in enumerate(cases, 1):
            job.step(
                f"what is left without its kernels, on {INTERPRETED_ON.format(self.on)}: case {number} of {len(cases)}"
            )
            trial.session.present(case)
            ran = self._without_kernels(case)
            if ran and not ran.launches and trial.session.task.workload != trial.task.workload:
                trial.found.elsewhere = "full"
                raise OutcomeReached(Compiled(build=self.facts, why=NOT_AT_THESE.format(_shapes(trial.session))))
            if any(expected.draws > 1 for expected in case.expected):
                return ""
            found = self._right_without(case, ran) if ran else frozenset()
            ways = {way: words for way, words in ways.items() if way in found}
            if not ways or "result" in ways:
                break
        words = next(iter(ways.values()), "") if cases else ""
        return f"{words}: something else does the work" if words else ""

    def _without_kernels(self, case: Case) -> Ran | None:
        """A call in which no kernel runs; None where it fails then."""
        try:
            return self.process.ask(Run(calls=[case.offsets], variant=WITHOUT_KERNELS))
        except ChildRaisedError:
            return None

    def _right_without(self, case: Case, ran: Ran) -> frozenset[str]:
        """What is right although no kernel ran: the `result`, or what launches were `given`."""
        results, given = (*ran.results, (), ())[:2]
        wanted = list(zip(self.trial.session.task.workload.outputs, case.expected, strict=True))

        def right(found: Found, spec: TensorSpec, expected: Expectation) -> bool:
            if (found.dtype, found.numel) != (spec.dtype, spec.numel):
                return False
            return expected.judge([self.process.read(found).view(spec.shape)])[1] is None

        if len(results) == len(wanted) and all(right(one, *of) for one, of in zip(results, wanted, strict=True)):
            return frozenset({"result"})
        return frozenset({"given"} if all(any(right(one, *of) for one in given) for of in wanted) else ())


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
    trial.found.facts = made.facts
    over = limits.of_facts(allowed, trial.candidate, made.facts, builder.OWN_HOST)
    if over is not None:
        raise OutcomeReached(over)
    if trial.policy.library_calls == "forbid" and builder.INTERPRETED and not made.facts.kernels:
        raise OutcomeReached(Refused(reason=NO_KERNELS))
    if not builder.INTERPRETED:
        raise OutcomeReached(Compiled(build=made.facts))
    return made.facts


def _fault(trial: Trial, raised: ChildRaisedError, facts: BuildFacts) -> Evaluation:
    kind = raised.name.removeprefix("fault ")
    if kind == "unsupported":
        told = f"cannot be interpreted: {raised.log}"
        return Compiled(build=facts.model_copy(update={"warnings": told}), why=f"it {told.strip().splitlines()[-1]}")
    if kind == "build":
        return BuildFailed(log=raised.log)
    return Crashed(stage=trial.found.stage, reason=gist(raised.log) or kind.replace("_", " "), log=raised.log)


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
