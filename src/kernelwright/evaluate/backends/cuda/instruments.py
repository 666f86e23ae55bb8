"""What a GPU offers to the probes of a new best: launches that can be left out, and compute-sanitizer.

In tier one nothing but the candidate's own kernels is launched, so that their share of the device's time is all of it.
"""

import base64
import sys
from collections.abc import Callable, Sequence

import torch

from kernelwright.evaluate.backends.cuda.process import PlanContestant
from kernelwright.evaluate.backends.cuda.profile_jail import PACKAGE, importing
from kernelwright.evaluate.backends.cuda.sanitizer import sanitize
from kernelwright.evaluate.backends.instruments import Instruments, Offsets, Sanitized
from kernelwright.evaluate.languages.artifact import Program
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import ModelJob, PlanJob, SanitizerJob
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.trial import Trial
from kernelwright.evaluate.sides.sanitized import JOB
from kernelwright.records.launch import LaunchPlan

PROGRAM = (sys.executable, "-m", "kernelwright.evaluate.sides.sanitized")
MOST_BYTES = 2 << 30
"""Of inputs and outputs: under compute-sanitizer a kernel is up to a hundred times as slow."""


class PlanAblation:
    """A plan of the launcher's, some of whose launches are skipped."""

    def __init__(self, contestant: PlanContestant, plan: LaunchPlan) -> None:
        self._contestant, self._plan = contestant, plan

    def launches(self) -> Sequence[str]:
        """See `Ablatable.launches`."""
        return [launch.kernel for launch in self._plan.launches]

    def without(self, launches: Sequence[int], offsets: Offsets) -> list[torch.Tensor]:
        """See `Ablatable.without`; a checked call poisons its results beforehand."""
        self._contestant.left_out = tuple(launches)
        try:
            (results,) = self._contestant.run([offsets], checked=True).results
            return [self._contestant.read(found).clone() for found in results]
        finally:
            self._contestant.left_out = ()


def of_a_plan(
    trial: Trial,
    warm: Warm,
    contestant: PlanContestant,
    program: Program,
    label: str | None,
    run_source: Callable[[], str] | None,
) -> Instruments:
    """Instruments of tier one; `label` names the plan that was chosen, `run_source` is as `Instruments.run_source`."""
    plan = next((p for p in program.plans if p.label == label), program.plans[0])
    names = sorted({launch.kernel for launch in plan.launches})
    modules = [base64.b64encode(m) for m in program.modules]
    job = PlanJob(workload=trial.session.task.workload, plan=plan, modules=modules)
    return Instruments(
        ablatable=PlanAblation(contestant, plan),
        device_times=lambda: dict.fromkeys(names, 1.0),
        own_kernels=names,
        run_source=run_source,
        sanitize=lambda tool: _sanitized(warm, tool, job),
        absent=_too_large(trial),
    )


def of_a_model(trial: Trial, warm: Warm, is_library: bool) -> Instruments:
    """Instruments of tier two, where the candidate's own host code launches; it may have been compiled to a library."""
    init = trial.session.presented.init_source()
    job = ModelJob(workload=trial.session.task.workload, candidate=trial.candidate, init=init)
    absent = {
        "ablation": "its own host code launches: what is left out of it, it could find out",
        **_too_large(trial),
    }
    if trial.policy.library_calls == "report":
        absent["own_share"] = "no profiler looks into its process"
    if is_library:
        absent |= dict.fromkeys(("memcheck", "racecheck"), "its library is called by nobody but its own process")
    return Instruments(sanitize=lambda tool: _sanitized(warm, tool, job), absent=absent)


def _too_large(trial: Trial) -> dict[str, str]:
    size = trial.session.task.workload.compulsory_bytes
    reason = f"{size >> 20} MB would take minutes under compute-sanitizer"
    return dict.fromkeys(("memcheck", "racecheck"), reason) if size > MOST_BYTES else {}


def _jail() -> Jail:
    """The confinement of the tool and of the candidate under it."""
    return Jail(
        directory="/",
        readable=PACKAGE,
        may_execute=True,
        memory_bytes=1 << 42,
        tmpfs_bytes=1 << 30,
        # torch's pool is one allocation to the tool: an access just behind a tensor would lie within it.
        environment={**importing(), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    )


def _sanitized(warm: Warm, tool: str, job: PlanJob | ModelJob) -> Sanitized:
    return sanitize(warm, _jail(), tool, PROGRAM, {JOB: SanitizerJob(program=job).model_dump_json()})
