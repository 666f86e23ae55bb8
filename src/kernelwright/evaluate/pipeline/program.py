"""From a candidate's text to a program for the GPU: everything of its judgement that needs no device.

Decides which compile stage a language goes through, and that open tunables become plans of one program, of which the
launcher keeps the fastest.
"""

from typing import TYPE_CHECKING

from kernelwright.evaluate.compile import cuda, triton
from kernelwright.evaluate.compile.program import Dynamic, Program
from kernelwright.evaluate.pipeline.machine_cuda import CudaMachine
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial

if TYPE_CHECKING:
    from kernelwright.records.evaluation import BuildFailed, Refused


def program_of(trial: Trial) -> Program | None:
    """The program; None where the candidate's own host code must run.

    Raises:
        OutcomeReached: it does not build.
        as the compile stages.
    """
    presented, target = trial.session.presented, trial.session.task.target
    if trial.candidate.language not in ("cuda", "triton"):
        return None
    assert isinstance(trial.machine, CudaMachine)
    warm, limit, workload = trial.machine.warm, trial.policy.compile_limit_s, presented.task.workload
    with trial.timed("compile"):
        built: Program | Dynamic | BuildFailed | Refused
        if trial.candidate.language == "cuda":
            built = cuda.build(warm, trial.candidate, workload, target.arch, limit, trial.jail().off)
        else:
            device = trial.machine.hardware
            built = triton.capture(warm, trial.candidate, presented.init_source(), workload, device, limit)
    if isinstance(built, Dynamic):
        return None
    if not isinstance(built, Program):
        raise OutcomeReached(built)
    return built
