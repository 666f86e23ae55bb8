"""A candidate in its process on the GPU that is here, in one of two tiers of trust.

One that became a program (device code with a launch plan) is run by the referee's own launcher: tier one. One whose own host
code must run is tier two: there is no build of its own, what it raises before its first result is a failed build, and its
events are bounded by the clock outside.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.backend import FirstCall
from kernelwright.evaluate.backends.cuda.footprint import MARGIN, guarded_bytes
from kernelwright.evaluate.backends.cuda.instruments import of_a_model, of_a_plan
from kernelwright.evaluate.backends.cuda.machine import CudaMachine
from kernelwright.evaluate.backends.cuda.memory import rest, run_limit_s
from kernelwright.evaluate.backends.cuda.process import ModelProcess, PlanProcess
from kernelwright.evaluate.languages.builder import Dynamic, Library, Program
from kernelwright.evaluate.languages.cuda.compilers import architecture
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.sandbox.child import Child, ChildUnreadyError
from kernelwright.evaluate.sandbox.compute_process import TimedRun
from kernelwright.evaluate.sandbox.messages.calls import TellPrecision
from kernelwright.evaluate.sandbox.messages.candidates import ExtensionBuild, LoadModel, TellLibraryShare
from kernelwright.evaluate.sandbox.process import ChildRaisedError, DeviceFullError
from kernelwright.evaluate.session.binding import bound
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.loaded import BESIDE_EAGER, Instruments, LoadedCandidate, Offsets, Respawn
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.session.verification import naming_written_inputs, verify_case
from kernelwright.evaluate.verify.distributions import UNALIGNED
from kernelwright.records.evaluation import Binding
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import Flags

FIRST = FirstCall(
    "triton",
    "compile",
    frozenset(
        {
            "CompilationError",
            "OutOfResources",
            "PTXASError",
            "BuildError",
            "SyntaxError",
            "UnsupportedLanguageConstruct",
        }
    ),
)
NOT_RUN_YET = BuildFacts(compiler="triton", seconds=0.0)


class LoadedPlan(LoadedCandidate):
    """Tier one: the launcher with its program. What is optional makes no other task give way."""

    process: PlanProcess
    respawns = frozenset[Respawn]({"private", "again"})

    def __init__(self, trial: Trial, machine: CudaMachine, program: Program, optional: bool = False) -> None:
        """Begin its process, and load nothing yet.

        No kernel runs until it has loaded, and the driver makes contexts one by one. Among a dozen workers that takes several
        seconds, which say nothing of the kernel: its own limit holds afterwards.
        """
        self.trial, self.program, self.facts, self._machine = trial, program, program.facts, machine
        self.skipped = {UNALIGNED.name: program.aligned_only} if program.aligned_only else {}
        options = trial.process_options(relieve=None if optional else _relief(trial))
        outputs = trial.session.task.workload.outputs
        child = _ready_child(machine, "launcher")
        self.process = PlanProcess(child, trial.policy.run_limit_s, outputs, options, trial.policy.defences)

    def load(self, private: bool = False) -> None:
        """Load the program, with inputs that it may write to if they are private.

        Raises:
            as `ComputeProcess.ask`.
        """
        session = self.trial.session
        if private:
            self.process.load(self.program, session.share(), len(session.inputs), session.tensors)
        else:
            self.process.load(self.program, session.share(), len(session.inputs), box=box(self.trial))
        self.process.limit(run_limit_s(session))

    def choose(self) -> None:
        """Find the fastest of its plans."""
        if len(self.program.plans) == 1:
            return
        offsets = self.trial.session.present(self.trial.session.cases[0]).offsets
        with self._machine.host.device_lock:  # they are timed
            index = self.process.choose(offsets)
        self.facts = self.program.facts.model_copy(update={"chosen": self.program.plans[index].label})

    @contextmanager
    def respawn(self, kind: Respawn, case: Case | None = None) -> Iterator[LoadedCandidate]:
        """See `LoadedCandidate.respawn`."""
        if kind == "again":
            own, machine = self.trial.once_more(BESIDE_EAGER), self._machine
            with _settling(machine), load_plan(own, machine, self.program, optional=True) as again:
                yield again
            return
        other = LoadedPlan(self.trial, self._machine, self.program)
        with closing(other.process):
            other.load(private=True)
            yield other

    @contextmanager
    def timed(self) -> Iterator[None]:
        """See `LoadedCandidate.timed`."""
        self._machine.settle()
        yield

    def instruments(self) -> Instruments:
        """See `LoadedCandidate.instruments`."""
        trial, machine = self.trial, self._machine
        has_source = BUILDERS[trial.candidate.language].MODULE
        run_source = (lambda: _run_source(trial, machine)) if has_source else None
        return of_a_plan(trial, machine.warm, self.process, self.program, self.facts.chosen, run_source)


class LoadedModel(LoadedCandidate):
    """Tier two: the candidate's own host code, with a library where it was compiled."""

    process: ModelProcess
    respawns = frozenset[Respawn]({"private", "again", "eager"})
    guarded = False
    parameters_in_call = False

    def __init__(self, trial: Trial, machine: CudaMachine, made: Library | Dynamic, optional: bool = False) -> None:
        """Begin its process, and load nothing yet. What is optional makes no other task give way."""
        self.trial, self.made, self.facts, self._machine = trial, made, made.facts or NOT_RUN_YET, machine
        options = trial.process_options(relieve=None if optional else _relief(trial))
        self.process = ModelProcess(self._child(), trial.policy.run_limit_s, options, trial.policy.defences)

    def load(self, private: bool = False) -> Binding:
        """Have it import the candidate, with inputs that it may write to if they are private.

        Raises:
            as `ComputeProcess.ask`.
        """
        trial, session, process = self.trial, self.trial.session, self.process
        copies = sum(t.nbytes + 4096 for t in session.tensors) if private else 0
        outbox = process.open_outbox(max(box(trial), copies))
        sizes, descriptors = session.share()
        extension = None
        if BUILDERS[trial.candidate.language].EXTENSION:
            gencode = architecture(session.task.target.arch)
            extension = ExtensionBuild(headers=str(self._machine.headers()), gencode=gencode)
        built = (self.made.descriptor,) if isinstance(self.made, Library) else ()
        command = LoadModel(
            sizes=sizes,
            outbox=process.outbox.nbytes,
            candidate=trial.candidate,
            workload=session.task.workload,
            init=session.original.init_source(),
            extension=extension,
            private=private,
            flags=session.task.numerics.flags,
            constant=session.weights != "fresh",
            files=(*descriptors, outbox, *built),
        )
        return process.ask(command, trial.policy.compile_limit_s).binding

    def first_call(self) -> None:
        """Make it, and note what it took.

        Raises:
            OutcomeReached: it fails.
        """
        case = self.trial.session.present(self.trial.session.cases[0])
        self.give_parameters(case.offsets)

        def compute() -> TimedRun:
            with naming_written_inputs(self, case):
                return self.process.run([case.offsets[: len(self.trial.session.inputs)]], checked=False)

        with self.process.limited(_first_limit_s(self.trial)):
            facts = FIRST.of(compute)
        self.facts = self.made.facts or facts

    @contextmanager
    def respawn(self, kind: Respawn, case: Case | None = None) -> Iterator[LoadedCandidate]:
        """See `LoadedCandidate.respawn`."""
        if kind == "private":
            other = LoadedModel(self.trial, self._machine, self.made)
            with closing(other.process), other.process.limited(_first_limit_s(self.trial)):
                other.load(private=True)
                if case is not None:
                    other.give_parameters(case.offsets)
                yield other
            return
        own, made = self.trial.once_more(BESIDE_EAGER), self.made
        if kind == "eager":
            own, made = self.trial.of_eager("triton", BESIDE_EAGER), Dynamic(reason="the task's own program")
        with _settling(self._machine), load_model(own, self._machine, made, optional=True) as again:
            yield again

    @property
    def replayable(self) -> ModelProcess:
        """See `LoadedCandidate.replayable`."""
        return self.process

    def give_parameters(self, offsets: Offsets) -> None:
        """See `LoadedCandidate.give_parameters`."""
        self.process.take_parameters(offsets[len(self.trial.session.inputs) :])

    @contextmanager
    def timed(self) -> Iterator[None]:
        """With the timed parameters, and with the clock that looks at other streams: what it costs, it costs both sides."""
        session = self.trial.session
        self.process.take_parameters(session.timed_parameters())
        self._machine.settle()
        with session.reference.watching(), self.process.watching():
            yield

    def instruments(self) -> Instruments:
        """See `LoadedCandidate.instruments`."""
        return of_a_model(self.trial, self._machine.warm, isinstance(self.made, Library))

    def flags(self) -> Flags:
        """See `LoadedCandidate.flags`."""
        return self.process.ask(TellPrecision()).flags

    def library_share(self) -> float | None:
        """See `LoadedCandidate.library_share`."""
        if not BUILDERS[self.trial.candidate.language].MODULE:
            return None
        case = self.trial.session.present(self.trial.session.cases[0])
        self.give_parameters(case.offsets)
        return self.process.ask(TellLibraryShare(call=case.offsets[: len(self.trial.session.inputs)])).share

    def _child(self) -> Child:
        machine, off = self._machine, self.trial.jail().off
        if BUILDERS[self.trial.candidate.language].EXTENSION:
            return machine.warm.spawn("cuda", machine.extension_jail(off))
        if off or self.trial.policy.disabled:
            return machine.warm.spawn("cuda", machine.host_jail(off))
        return _ready_child(machine, "cuda")


@contextmanager
def load_plan(trial: Trial, machine: CudaMachine, program: Program, optional: bool = False) -> Iterator[LoadedPlan]:
    """Tier one, ready to compute.

    Raises:
        as `ComputeProcess.run`.
    """
    trial.found.tier = 1
    with trial.timed("load"):
        loaded = LoadedPlan(trial, machine, program, optional)
    try:
        with trial.timed("load"):
            loaded.load()
        with trial.timed("verify"):
            loaded.choose()
        yield loaded
    finally:
        loaded.process.leave()
        machine.prewarmed("launcher").retire(loaded.process.child)


@contextmanager
def load_model(
    trial: Trial, machine: CudaMachine, made: Library | Dynamic, optional: bool = False
) -> Iterator[LoadedModel]:
    """Tier two, with its first call made.

    Raises:
        OutcomeReached: its first call fails.
        as `ComputeProcess.run`.
    """
    with trial.timed("load"):
        loaded = LoadedModel(trial, machine, made, optional)
    try:
        with trial.timed("load"):
            bound(trial, loaded.load())
        with trial.timed("compile"):
            # Untrusted code runs in this call as well, so that what ends it is a crash and no failed build.
            trial.found.stage = "load"
            loaded.first_call()
        loaded.process.limit(run_limit_s(trial.session))
        yield loaded
    finally:
        loaded.process.leave()
        machine.prewarmed("cuda").retire(loaded.process.child)


def box(trial: Trial) -> int:
    """Bytes of a candidate's outbox: an audit has two results kept at once, if the device has room for them."""
    session = trial.session
    two = 2 * guarded_bytes(session.task.workload.outputs)
    room = trial.effort == "final" and two <= torch.cuda.mem_get_info()[0] - MARGIN
    return max(session.memory.box(), two if room else 0)


@contextmanager
def _settling(machine: CudaMachine) -> Iterator[None]:
    """One more process has been ended: it was replaced by one that waits, whose birth would disturb the clock."""
    try:
        yield
    finally:
        machine.settle()


def _relief(trial: Trial) -> Callable[[], None]:
    """What helps a candidate that finds no memory: the reference gives back what it keeps, then other tasks close."""
    reference = trial.session.reference

    def relieve() -> None:
        rest(reference)
        if reference.options.relieve is not None:
            reference.options.relieve()

    return relieve


def _run_source(trial: Trial, machine: CudaMachine) -> str:
    """The candidate as it will be used: host code that saw that it was captured could have shown other launches.

    Raises:
        OutcomeReached: it is wrong.
        as `ComputeProcess.run`.
    """
    loaded, cases = LoadedModel(trial, machine, Dynamic(reason="its own host code is asked for")), trial.session.cases
    with closing(loaded.process):
        loaded.load()
        loaded.first_call()
        for case in cases:
            loaded.give_parameters(case.offsets)
            verify_case(loaded, case)
    return f"its own host code is right in {len(cases)} cases too"


def _ready_child(machine: CudaMachine, side: str) -> Child:
    """A child that was started ahead, with its context on the device.

    Raises:
        DeviceFullError: there is no room for a context.
        RefereeError: it could not be made.
    """
    try:
        return machine.prewarmed(side).take()
    except ChildUnreadyError as error:
        if ChildRaisedError(error.name, error.log).full:
            raise DeviceFullError("open", error.log) from None
        raise RefereeError(f"no process with a context on the device could be made: {error}") from None


def _first_limit_s(trial: Trial) -> float:
    """Of a process's first call: all of a network's kernels may be compiled in it, one after another."""
    return max(trial.policy.run_limit_s, trial.policy.compile_limit_s)
