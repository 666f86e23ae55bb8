"""Judging a Triton candidate on the GPU that is here. Tier two: its own host code runs and launches.

There is no build of its own: Triton compiles at the first launch, inside the candidate's process, and what that raises
before the first result is a failed build.
"""

from typing import TYPE_CHECKING

from kernelwright.evaluate.pipeline.absent import described
from kernelwright.evaluate.pipeline.session_cuda import CudaContestant, CudaSession
from kernelwright.evaluate.pipeline.timing import time_candidate
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, replayed, verify_case
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError
from kernelwright.records.evaluation import BuildFailed, Crashed, Evaluation, TimedOut
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort

if TYPE_CHECKING:
    from kernelwright.evaluate.sandbox.wire import Message

BUILD_ERRORS = (
    "CompilationError",
    "OutOfResources",
    "PTXASError",
    "BuildError",
    "SyntaxError",
    "UnsupportedLanguageConstruct",
)


def cuda_stages(trial: Trial, effort: Effort) -> Evaluation:
    """Measured, or why not.

    Raises:
        as `Contestant.run`, and OutcomeReached.
    """
    session = trial.session
    assert isinstance(session, CudaSession)
    # Triton's compiler starts an assembler and a C compiler of its own.
    jail = trial.jail().model_copy(update={"may_execute": True, "memory_bytes": 1 << 40, "tmpfs_bytes": 1 << 30})
    contestant = CudaContestant(trial.machine.warm.spawn("cuda", jail), trial.policy.run_limit_s)
    contestant.freeze = "freeze" not in trial.policy.disabled
    try:
        with trial.timed("load"):
            _load(trial, contestant, session)
        with trial.timed("compile"):
            # Foreign code runs in this call as well, so that what ends it is a crash and no failed build.
            trial.stage = "load"
            facts = _first_call(trial, contestant)
        with trial.timed("verify"):
            for case in session.cases:
                _give_parameters(session, contestant, case.offsets)
                verify_case(trial, contestant, case, guarded=False)
        if effort == "replay":
            return replayed(trial, facts)
        with trial.timed("measure"):
            _give_parameters(session, contestant, (*(0 for _ in session.inputs), *session.timed_parameters()))
            return time_candidate(trial, contestant, facts, effort)
    finally:
        contestant.close()


def _load(trial: Trial, contestant: CudaContestant, session: CudaSession) -> None:
    outbox = contestant.open_outbox(session.outbox_size())
    fields, descriptors = session.share()
    workload = session.task.workload
    message: Message = {
        "do": "load",
        **fields,
        **described(trial),
        "workload": workload.model_dump(mode="json"),
        "outputs": [o.model_dump(mode="json") for o in workload.outputs],
        "outbox": contestant.outbox_bytes,
    }
    contestant.ask(message, [*descriptors, outbox])


def _first_call(trial: Trial, contestant: CudaContestant) -> BuildFacts:
    """The call at which Triton compiles; its result is judged with the first case, not here."""
    case = trial.session.cases[0]
    _give_parameters(trial.session, contestant, case.offsets)
    try:
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
    if session.parameters:
        contestant.ask({"do": "parameters", "offsets": list(offsets[len(session.inputs) :])})
