"""A candidate in its process on the GPU that is here, in one of two tiers of trust.

One that became a program (device code with a launch plan) is run by the referee's own launcher: tier one. One whose own host
code must run is tier two: there is no build of its own, what it raises before its first result is a failed build, and its
events are bounded by the clock outside.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.backend import BESIDE_EAGER, Loaded
from kernelwright.evaluate.backends.cuda.footprint import MARGIN, guarded_bytes
from kernelwright.evaluate.backends.cuda.instruments import of_a_model, of_a_plan
from kernelwright.evaluate.backends.cuda.machine import CudaMachine
from kernelwright.evaluate.backends.cuda.memory import limit_s, rest
from kernelwright.evaluate.backends.cuda.process import CudaCandidateProcess, PlanCandidateProcess
from kernelwright.evaluate.backends.first_call import FirstCall
from kernelwright.evaluate.languages.artifact import Dynamic, Library, Program
from kernelwright.evaluate.languages.cuda.compilers import architecture
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError, DeviceFullError, Ran
from kernelwright.evaluate.sandbox.child import Child, ChildUnreadyError
from kernelwright.evaluate.sandbox.messages.calls import (
    ExtensionBuild,
    LoadModel,
    ModelLoaded,
    TellLibraryShare,
    TellPrecision,
)
from kernelwright.evaluate.session.binding import bound
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.mutation import named
from kernelwright.evaluate.session.trial import Trial, verify_case
from kernelwright.evaluate.verify.distributions import UNALIGNED
from kernelwright.records.measure import BuildFacts

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
ITSELF = Dynamic(reason="the task's own program")


@contextmanager
def loaded_plan(trial: Trial, machine: CudaMachine, program: Program, optional: bool = False) -> Iterator[Loaded]:
    """Tier one. What is optional makes no other task give way.

    Raises:
        as `CandidateProcess.run`.
    """
    session = trial.session
    trial.tier = 1
    with trial.timed("load"):
        child = _ready_child(machine, "launcher")
        process = _launcher(trial, child)
        process.relieve = None if optional else process.relieve
        process.off = trial.policy.disabled
    try:
        with trial.timed("load"):
            process.load(program, session.share(), len(session.inputs), box=_box(trial))
            process.limit_s = limit_s(session)
        with trial.timed("verify"):
            facts = _chosen(trial, machine, process, program)
        yield Loaded(
            process,
            facts,
            again=lambda case: _private_plan(trial, machine, program),
            instruments=lambda: of_a_plan(trial, machine.warm, process, program, facts.chosen, _source(trial, machine)),
            skipped={UNALIGNED.name: program.aligned_only} if program.aligned_only else {},
            timed=lambda: _settled(machine),
            anew=lambda: _in_turn(
                trial.once_more(BESIDE_EAGER), machine, partial(loaded_plan, machine=machine, program=program)
            ),
        )
    finally:
        process.leave()
        machine.prewarmed("launcher").retire(child)


def _box(trial: Trial) -> int:
    """Bytes of its outbox: an audit has two results kept at once, if the device has room for them."""
    session = trial.session
    two = 2 * guarded_bytes(session.task.workload.outputs)
    room = trial.effort == "final" and two <= torch.cuda.mem_get_info()[0] - MARGIN
    return max(session.memory.box(), two if room else 0)


def _launcher(trial: Trial, child: Child) -> PlanCandidateProcess:
    """The launcher before it loads its program: no kernel runs meanwhile, and the driver makes contexts one by one.

    Among a dozen workers that takes several seconds, which say nothing of the kernel: its own limit holds afterwards.
    """
    process = PlanCandidateProcess(child, trial.policy.run_limit_s, trial.session.task.workload.outputs)
    process.relieve = _relief(trial)
    return process


def _relief(trial: Trial) -> Callable[[], None]:
    """What helps a candidate that finds no memory: the reference gives back what it keeps, then other tasks close."""
    reference = trial.session.reference

    def relieve() -> None:
        rest(reference)
        if reference.relieve is not None:
            reference.relieve()

    return relieve


@contextmanager
def loaded_model(
    trial: Trial, machine: CudaMachine, made: Library | Dynamic, optional: bool = False
) -> Iterator[Loaded]:
    """Tier two; with a library where the host code was compiled. What is optional makes no other task give way.

    Raises:
        OutcomeReached: its first call fails.
        as `CandidateProcess.run`.
    """
    session = trial.session
    with trial.timed("load"):
        process = CudaCandidateProcess(_host_child(trial, machine), trial.policy.run_limit_s)
    process.freeze, process.off = "freeze" not in trial.policy.disabled, trial.policy.disabled
    try:
        with trial.timed("load"):
            bound(trial, _load(trial, machine, process, made, optional=optional).binding)
        with trial.timed("compile"):
            # Untrusted code runs in this call as well, so that what ends it is a crash and no failed build.
            trial.stage = "load"
            facts = _first_call(trial, machine, process, made)
        process.limit_s = limit_s(session)
        yield Loaded(
            process,
            made.facts or facts,
            again=lambda case: _private_model(trial, machine, case, made),
            instruments=lambda: of_a_model(trial, machine.warm, isinstance(made, Library)),
            guarded=False,
            whole=False,
            give=lambda offsets: _give_parameters(trial, process, offsets),
            timed=lambda: _timed_model(trial, machine, process),
            anew=lambda: _in_turn(
                trial.once_more(BESIDE_EAGER), machine, partial(loaded_model, machine=machine, made=made)
            ),
            twin=lambda: _in_turn(
                trial.of_eager("triton", BESIDE_EAGER), machine, partial(loaded_model, machine=machine, made=ITSELF)
            ),
            flags=lambda: process.ask(TellPrecision()).flags,
            library_share=lambda: _library_share(trial, process),
        )
    finally:
        process.leave()
        machine.prewarmed("cuda").retire(process.child)


@contextmanager
def _in_turn(
    own: Trial, machine: CudaMachine, load: Callable[..., AbstractContextManager[Loaded]]
) -> Iterator[tuple[Trial, Loaded]]:
    """One more process beside those that are there, of its own trial, and ended again."""
    try:
        with load(own, optional=True) as loaded:
            yield own, loaded
    finally:
        # Its process was replaced by one that waits, whose birth would disturb the clock.
        machine.settle()


@contextmanager
def _settled(machine: CudaMachine) -> Iterator[None]:
    machine.settle()
    yield


@contextmanager
def _timed_model(trial: Trial, machine: CudaMachine, process: CudaCandidateProcess) -> Iterator[None]:
    """With the timed parameters, and with the clock that looks at other streams: what it costs, it costs both sides."""
    session = trial.session
    _give_parameters(trial, process, (*(0 for _ in session.inputs), *session.timed_parameters()))
    machine.settle()
    arms: tuple[CandidateProcess, ...] = (session.reference, process)
    for side in arms:
        side.watched = True
    try:
        yield
    finally:
        for side in arms:
            side.watched = False


def _source(trial: Trial, machine: CudaMachine) -> Callable[[], str] | None:
    """Runs the host code of a candidate that has any, where the launcher stood for it."""
    return (lambda: _run_source(trial, machine)) if BUILDERS[trial.candidate.language].MODULE else None


def _run_source(trial: Trial, machine: CudaMachine) -> str:
    """The candidate as it will be used: host code that saw that it was captured could have shown other launches.

    Raises:
        OutcomeReached: it is wrong.
        as `CandidateProcess.run`.
    """
    session, nothing = trial.session, Dynamic(reason="its own host code is asked for")
    process = CudaCandidateProcess(_host_child(trial, machine), trial.policy.run_limit_s)
    try:
        _load(trial, machine, process, nothing)
        _first_call(trial, machine, process, nothing)
        for case in session.cases:
            _give_parameters(trial, process, case.offsets)
            verify_case(trial, process, case, guarded=False)
    finally:
        process.close()
    return f"its own host code is right in {len(session.cases)} cases too"


def _private_plan(trial: Trial, machine: CudaMachine, program: Program) -> PlanCandidateProcess:
    """The launcher once more, with inputs that may be written to."""
    session = trial.session
    again = _launcher(trial, _ready_child(machine, "launcher"))
    with ExitStack() as held:
        held.callback(again.close)
        again.load(program, session.share(), len(session.inputs), session.tensors)
        held.pop_all()
    again.limit_s = limit_s(session)
    return again


def _private_model(trial: Trial, machine: CudaMachine, case: Case, made: Library | Dynamic) -> CudaCandidateProcess:
    """A tier-two candidate once more, with inputs that may be written to."""
    again = CudaCandidateProcess(_host_child(trial, machine), _first_limit_s(trial))
    with ExitStack() as held:
        held.callback(again.close)
        _load(trial, machine, again, made, private=True)
        _give_parameters(trial, again, case.offsets)
        held.pop_all()
    return again


def _chosen(trial: Trial, machine: CudaMachine, process: PlanCandidateProcess, program: Program) -> BuildFacts:
    """The program's facts, after the fastest of its plans has been found."""
    if len(program.plans) == 1:
        return program.facts
    offsets = trial.session.present(trial.session.cases[0]).offsets
    with machine.host.device_lock:  # they are timed
        index, _ = process.choose(offsets)
    return program.facts.model_copy(update={"chosen": program.plans[index].label})


def _host_child(trial: Trial, machine: CudaMachine) -> Child:
    off = trial.jail().off
    if BUILDERS[trial.candidate.language].EXTENSION:
        return machine.warm.spawn("cuda", machine.extension_jail(off))
    if off or trial.policy.disabled:
        return machine.warm.spawn("cuda", machine.host_jail(off))
    return _ready_child(machine, "cuda")


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


def _load(
    trial: Trial,
    machine: CudaMachine,
    process: CudaCandidateProcess,
    made: Library | Dynamic,
    private: bool = False,
    optional: bool = False,
) -> ModelLoaded:
    session, workload = trial.session, trial.session.task.workload
    copies = sum(t.nbytes + 4096 for t in session.tensors) if private else 0
    if not optional:
        process.relieve = _relief(trial)
    outbox = process.open_outbox(max(_box(trial), copies))
    sizes, descriptors = session.share()
    extension = None
    if BUILDERS[trial.candidate.language].EXTENSION:
        gencode = architecture(session.task.target.arch)
        extension = ExtensionBuild(headers=str(machine.headers()), gencode=gencode)
    built = (made.descriptor,) if isinstance(made, Library) else ()
    command = LoadModel(
        sizes=sizes,
        outbox=process.outbox_bytes,
        candidate=trial.candidate,
        workload=workload,
        init=session.original.init_source(),
        extension=extension,
        private=private,
        flags=session.task.numerics.flags,
        constant=session.weights != "fresh",
        files=(*descriptors, outbox, *built),
    )
    return process.ask(command, trial.policy.compile_limit_s)


def _first_call(
    trial: Trial, machine: CudaMachine, process: CudaCandidateProcess, made: Library | Dynamic
) -> BuildFacts:
    case = trial.session.present(trial.session.cases[0])
    _give_parameters(trial, process, case.offsets)

    def compute() -> Ran:
        with named(trial, case, lambda case: _private_model(trial, machine, case, made), whole=False):
            return process.run([case.offsets[: len(trial.session.inputs)]], checked=False)

    process.limit_s, usual = _first_limit_s(trial), process.limit_s
    facts = FIRST.of(process, compute)
    process.limit_s = usual
    return facts


def _first_limit_s(trial: Trial) -> float:
    """Of a process's first call: all of a network's kernels may be compiled in it, one after another."""
    return max(trial.policy.run_limit_s, trial.policy.compile_limit_s)


def _library_share(trial: Trial, process: CudaCandidateProcess) -> float | None:
    """See `Loaded.library_share`."""
    if not BUILDERS[trial.candidate.language].MODULE:
        return None
    case = trial.session.present(trial.session.cases[0])
    _give_parameters(trial, process, case.offsets)
    return process.ask(TellLibraryShare(call=case.offsets[: len(trial.session.inputs)])).share


def _give_parameters(trial: Trial, process: CudaCandidateProcess, offsets: tuple[int, ...]) -> None:
    process.take_parameters(offsets[len(trial.session.inputs) :])
