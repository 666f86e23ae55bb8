"""Judging a candidate on the GPU that is here.

Two tiers of trust. A candidate that became a program (device code with a launch plan) is run by the referee's own launcher:
tier one. One whose own host code must run is tier two: there is no build of its own, what it raises before its first
result is a failed build, and its events are bounded by the clock outside.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kernelwright.evaluate.compile.cpp import Library
from kernelwright.evaluate.compile.cuda_flags import architecture
from kernelwright.evaluate.compile.program import Program
from kernelwright.evaluate.pipeline.cases import Case
from kernelwright.evaluate.pipeline.contestant_cuda import CudaContestant, PlanContestant
from kernelwright.evaluate.pipeline.instruments_cuda import of_a_model, of_a_plan
from kernelwright.evaluate.pipeline.machine_cuda import CudaMachine
from kernelwright.evaluate.pipeline.mutation import named
from kernelwright.evaluate.pipeline.probes import Subject
from kernelwright.evaluate.pipeline.promotion import promoted
from kernelwright.evaluate.pipeline.session_cuda import CudaSession
from kernelwright.evaluate.pipeline.timing import time_candidate
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, replayed, verify_case
from kernelwright.evaluate.sandbox.child import Child, ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError
from kernelwright.evaluate.sandbox.messages.calls import ExtensionBuild, LoadModel
from kernelwright.evaluate.verify.regimes import UNALIGNED
from kernelwright.records.evaluation import BuildFailed, Crashed, Evaluation, TimedOut
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort

BUILD_ERRORS = (
    "CompilationError",
    "OutOfResources",
    "PTXASError",
    "BuildError",
    "SyntaxError",
    "UnsupportedLanguageConstruct",
)


def plan_stages(trial: Trial, program: Program, effort: Effort) -> Evaluation:
    """Tier one: Measured, or why not.

    Raises:
        as `Contestant.run`, and OutcomeReached.
    """
    session, machine = trial.session, trial.machine
    assert isinstance(session, CudaSession) and isinstance(machine, CudaMachine)
    trial.tier = 1
    with trial.timed("load"):
        child = machine.spares("launcher").take()
        contestant = PlanContestant(child, session.limit_s(), session.task.workload.outputs)
        contestant.off = trial.policy.disabled
    try:
        with trial.timed("load"):
            contestant.load(program, session.share(), len(session.inputs))
        with trial.timed("verify"):
            facts = _chosen(session, contestant, program)
            for case in session.cases:
                if case.regime == UNALIGNED.name and program.aligned_only:
                    trial.skipped.append(f"{case.regime}: {program.aligned_only}")
                    continue
                with named(trial, case, lambda: _private_plan(trial, machine, program)):
                    verify_case(trial, contestant, case)
        if effort == "replay":
            return replayed(trial, facts)
        with trial.timed("measure"):
            machine.settle()
            outcome = time_candidate(trial, contestant, facts, effort)
        instruments = of_a_plan(trial, contestant, program, facts.chosen)
        if trial.candidate.language == "triton":
            instruments = replace(instruments, run_source=lambda: _run_source(trial, machine))
        return promoted(trial, outcome, effort, Subject(contestant), instruments)
    finally:
        contestant.leave()
        machine.spares("launcher").retire(child)


def host_stages(trial: Trial, library: Library | None, effort: Effort) -> Evaluation:
    """Tier two: Measured, or why not; with a library where the host code was compiled.

    Raises:
        as `Contestant.run`, and OutcomeReached.
    """
    session, machine = trial.session, trial.machine
    assert isinstance(session, CudaSession) and isinstance(machine, CudaMachine)
    with trial.timed("load"):
        contestant = CudaContestant(_host_child(trial, machine), trial.policy.run_limit_s)
    contestant.freeze, contestant.off = "freeze" not in trial.policy.disabled, trial.policy.disabled
    try:
        with trial.timed("load"):
            _load(trial, contestant, session, library)
        with trial.timed("compile"):
            # Foreign code runs in this call as well, so that what ends it is a crash and no failed build.
            trial.stage = "load"
            facts = _first_call(trial, contestant, library)
            facts = library.facts if library is not None else facts
        contestant.limit_s = session.limit_s()
        with trial.timed("verify"):
            for case in session.cases:
                _give_parameters(session, contestant, case.offsets)
                with named(trial, case, lambda case=case: _private_model(trial, machine, case, library)):  # type: ignore[misc]
                    verify_case(trial, contestant, case, guarded=False)
        if effort == "replay":
            return replayed(trial, facts)
        with trial.timed("measure"):
            _give_parameters(session, contestant, (*(0 for _ in session.inputs), *session.timed_parameters()))
            machine.settle()
            with _watched(session.reference, contestant):
                outcome = time_candidate(trial, contestant, facts, effort)
        subject = Subject(contestant, lambda offsets: _give_parameters(session, contestant, offsets))
        return promoted(trial, outcome, effort, subject, of_a_model(trial))
    finally:
        contestant.leave()
        machine.spares("cuda").retire(contestant.child)


@contextmanager
def _watched(*sides: CudaContestant) -> Iterator[None]:
    """The clock that looks at other streams, for both sides: what it costs, it costs both."""
    for side in sides:
        side.watched = True
    try:
        yield
    finally:
        for side in sides:
            side.watched = False


def _run_source(trial: Trial, machine: CudaMachine) -> str:
    """The candidate as it will be used: host code that saw that it was captured could have shown other launches.

    Raises:
        OutcomeReached: it is wrong.
        as `Contestant.run`.
    """
    session = trial.session
    assert isinstance(session, CudaSession)
    contestant = CudaContestant(_host_child(trial, machine), trial.policy.run_limit_s)
    try:
        _load(trial, contestant, session, None)
        _first_call(trial, contestant, None)
        for case in session.cases:
            _give_parameters(session, contestant, case.offsets)
            verify_case(trial, contestant, case, guarded=False)
    finally:
        contestant.close()
    return f"its own host code is right in {len(session.cases)} cases too"


def _private_plan(trial: Trial, machine: CudaMachine, program: Program) -> PlanContestant:
    """The launcher once more, with inputs that may be written to."""
    session = trial.session
    again = PlanContestant(machine.spares("launcher").take(), session.limit_s(), session.task.workload.outputs)
    again.load(program, session.share(), len(session.inputs), session.tensors)
    return again


def _private_model(trial: Trial, machine: CudaMachine, case: Case, library: Library | None) -> CudaContestant:
    """A tier-two candidate once more, with inputs that may be written to."""
    session = trial.session
    assert isinstance(session, CudaSession)
    again = CudaContestant(_host_child(trial, machine), trial.policy.run_limit_s)
    _load(trial, again, session, library, private=True)
    _give_parameters(session, again, case.offsets)
    return again


def _chosen(session: CudaSession, contestant: PlanContestant, program: Program) -> BuildFacts:
    """The program's facts, after the fastest of its plans has been found."""
    if len(program.plans) == 1:
        return program.facts
    offsets = session.present(session.cases[0]).offsets
    index, _ = contestant.choose(offsets)
    return program.facts.model_copy(update={"chosen": program.plans[index].label})


def _host_child(trial: Trial, machine: CudaMachine) -> Child:
    off = trial.jail().off
    if trial.candidate.language == "python":
        return machine.warm.spawn("cuda", machine.extension_jail(off))
    if off or trial.policy.disabled:
        return machine.warm.spawn("cuda", machine.host_jail(off))
    return machine.spares("cuda").take()


def _load(
    trial: Trial, contestant: CudaContestant, session: CudaSession, library: Library | None, private: bool = False
) -> None:
    copies = sum(t.nbytes + 4096 for t in session.tensors) if private else 0
    outbox = contestant.open_outbox(max(session.outbox_size(), copies))
    sizes, descriptors = session.share()
    extension = None
    if trial.candidate.language == "python":
        assert isinstance(trial.machine, CudaMachine)
        headers, gencode = str(trial.machine.headers()), architecture(session.task.target.arch)
        extension = ExtensionBuild(headers=headers, gencode=gencode)
    built = () if library is None else (library.descriptor,)
    command = LoadModel(
        sizes=sizes,
        outbox=contestant.outbox_bytes,
        candidate=trial.candidate,
        workload=session.task.workload,
        init=session.presented.init_source(),
        extension=extension,
        private=private,
        files=(*descriptors, outbox, *built),
    )
    contestant.ask(command, trial.policy.compile_limit_s)


def _first_call(trial: Trial, contestant: CudaContestant, library: Library | None) -> BuildFacts:
    """The call at which Triton compiles; its result is judged with the first case, not here."""
    case = trial.session.present(trial.session.cases[0])
    _give_parameters(trial.session, contestant, case.offsets)
    machine = trial.machine
    assert isinstance(machine, CudaMachine)
    try:
        with named(trial, case, lambda: _private_model(trial, machine, case, library)):
            ran = contestant.run([case.offsets[: len(trial.session.inputs)]], checked=False)
    except ChildRaisedError as raised:
        if raised.name in BUILD_ERRORS:
            raise OutcomeReached(BuildFailed(log=raised.log)) from None
        raise OutcomeReached(Crashed(stage="compile", reason=raised.name, log=raised.log)) from None
    except ChildGoneError as gone:
        raise OutcomeReached(Crashed(stage="compile", reason=gone.reason, log=gone.log)) from None
    except ChildSlowError:
        raise OutcomeReached(TimedOut(stage="compile", limit_s=trial.policy.run_limit_s)) from None
    return BuildFacts(compiler="triton", seconds=ran.outside_ns / 1e9)


def _give_parameters(session: object, contestant: CudaContestant, offsets: tuple[int, ...]) -> None:
    assert isinstance(session, CudaSession)
    contestant.take_parameters(offsets[len(session.inputs) :])
