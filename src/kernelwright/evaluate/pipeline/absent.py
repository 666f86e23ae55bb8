"""A device that is not here: compile for it, and let an interpreter say whether the kernel is right.

The outcome is `Verified` with what it was verified on, or `Compiled` when the interpreter cannot run the kernel; nothing
interprets CUDA C++. No time is claimed, by anything.
"""

from collections.abc import Callable

from kernelwright.evaluate.compile import cuda, cuda_host, python
from kernelwright.evaluate.pipeline import limits
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, verify_case
from kernelwright.evaluate.sandbox.child import ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.records.evaluation import BuildFailed, Compiled, Crashed, Evaluation, Refused, TimedOut, Verified
from kernelwright.records.measure import BuildFacts

INTERPRET_LIMIT_S = 120.0
NO_KERNELS = "library calls are forbidden, and it has 0 kernels of its own: PyTorch does it all"


def absent_stages(trial: Trial, heard: Callable[[Callable[[], Evaluation]], Evaluation]) -> Evaluation:
    """Compiled or Verified, or why not; what needs the session's cases is handed to `heard`.

    Raises:
        as `Contestant.run`, and OutcomeReached.
    """
    facts = cross_compiled(trial)
    if trial.candidate.language != "triton":
        return Compiled(build=facts)
    return heard(lambda: _interpret(trial, facts))


def cross_compiled(trial: Trial) -> BuildFacts:
    """What the compiler says of the candidate.

    Raises:
        as `absent_stages`.
    """
    with trial.timed("compile"):
        trial.facts = _COMPILERS[trial.candidate.language](trial)
    over = limits.of_facts(trial.session.presented.task.source.limits, trial.candidate, trial.facts)
    if over is not None:
        raise OutcomeReached(over)
    forbidden = trial.policy.library_calls == "forbid" and trial.candidate.language == "triton"
    if forbidden and not trial.facts.kernels:
        raise OutcomeReached(Refused(reason=NO_KERNELS))
    return trial.facts


def described(trial: Trial) -> Message:
    """The fields of a message that hands a candidate module to a child."""
    presented = trial.session.presented
    return {
        "candidate": trial.candidate.model_dump(mode="json"),
        "init": presented.init_source(),
        "arch": trial.session.task.target.arch,
    }


def _compile(trial: Trial) -> BuildFacts:
    # The compiler of Triton starts an assembler of its own.
    jail = trial.jail().model_copy(update={"may_execute": True})
    child = Contestant(trial.machine.warm.spawn("cross", _at_home(jail)), trial.policy.compile_limit_s)
    workload = trial.session.presented.task.workload.model_dump(mode="json")
    try:
        answer = child.ask({"do": "build", "workload": workload, **described(trial)})
        return BuildFacts.model_validate(answer["facts"])
    except ChildRaisedError as raised:
        raise OutcomeReached(_fault(trial, raised, None)) from None
    finally:
        child.close()


def _compile_cuda(trial: Trial) -> BuildFacts:
    task = trial.session.presented.task
    made = cuda.build(
        trial.machine.warm,
        trial.candidate,
        task.workload,
        task.target.arch,
        trial.policy.compile_limit_s,
        trial.jail().off,
    )
    if isinstance(made, BuildFailed | Refused):
        raise OutcomeReached(made)
    over = limits.of_program(task.source.limits, made)
    if over is not None:
        raise OutcomeReached(over)
    return made.facts


def _compile_cuda_host(trial: Trial) -> BuildFacts:
    arch = trial.session.presented.task.target.arch
    made = cuda_host.build(trial.machine.warm, trial.candidate, arch, trial.policy.compile_limit_s, trial.jail().off)
    if isinstance(made, BuildFailed | Refused):
        raise OutcomeReached(made)
    made.close()
    return made.facts


def _compile_python(trial: Trial) -> BuildFacts:
    arch = trial.session.presented.task.target.arch
    made = python.build(trial.machine.warm, trial.candidate, arch, trial.policy.compile_limit_s, trial.jail().off)
    if isinstance(made, BuildFailed):
        raise OutcomeReached(made)
    return made


_COMPILERS = {
    "triton": _compile,
    "cuda": _compile_cuda,
    "cuda_host": _compile_cuda_host,
    "python": _compile_python,
}
"""By the candidate's language."""
LANGUAGES = tuple(_COMPILERS)


def _interpret(trial: Trial, facts: BuildFacts) -> Evaluation:
    with trial.timed("verify"):
        return _interpreted(trial, facts)


def _interpreted(trial: Trial, facts: BuildFacts) -> Evaluation:
    session = trial.session
    jail = trial.jail().model_copy(update={"environment": {"TRITON_INTERPRET": "1"}})
    child = Contestant(trial.machine.warm.spawn("interpreted", _at_home(jail)), INTERPRET_LIMIT_S)
    try:
        workload = session.task.workload.model_dump(mode="json")
        fields, descriptors = session.share()
        child.ask({"do": "load", "workload": workload, **fields, **described(trial)}, descriptors)
        for case in session.cases:
            verify_case(trial, child, case, guarded=False)
    except ChildRaisedError as raised:
        return _fault(trial, raised, facts)
    except ChildSlowError:
        return TimedOut(stage=trial.stage, limit_s=INTERPRET_LIMIT_S)
    finally:
        child.close()
    how = f"Triton's interpreter on {session.presented.reduction or 'full shapes'}"
    return Verified(build=facts, accuracy=trial.accuracy, how=how)


def _fault(trial: Trial, raised: ChildRaisedError, facts: BuildFacts | None) -> Evaluation:
    kind = raised.name.removeprefix("fault ")
    if kind == "unsupported" and facts is not None:
        return Compiled(build=facts.model_copy(update={"warnings": f"cannot be interpreted: {raised.log}"}))
    if kind == "build" or facts is None:
        return BuildFailed(log=raised.log)
    return Crashed(stage=trial.stage, reason=kind.replace("_", " "), log=raised.log)


def _at_home(jail: Jail) -> Jail:
    """Triton keeps its cache below HOME, which is the child's private directory."""
    return jail.model_copy(update={"environment": {**jail.environment, "TRITON_DEFAULT_FP_FUSION": "1"}})
