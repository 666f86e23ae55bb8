"""What a GPU offers to the probes of a new best: launches that can be left out, and compute-sanitizer.

In tier one nothing but the candidate's own kernels is launched, so that their share of the device's time is all of it. What
counts as an error under compute-sanitizer is what the tool's own summary counts.
"""

import base64
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence

import torch

from kernelwright.evaluate.backends.cuda.process import PlanProcess
from kernelwright.evaluate.backends.cuda.profiling import PACKAGE, importing
from kernelwright.evaluate.entrypoints.tools.sanitized import DONE, JOB
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute, ModelJob, PlanJob, SanitizerJob
from kernelwright.evaluate.sandbox.process import ChildRaisedError, Process
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.loaded import Instruments, NotRunError, Offsets, Sanitized
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.launch import LaunchPlan

PLACES = "/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/bin:/usr/bin"
OPTIONS = ("--print-limit", "20", "--target-processes", "all", "--report-api-errors", "no")
"""torch and the driver's bindings ask for functions that a driver may not have, and go on: no error of the candidate's."""
OWN_OPTIONS = {"memcheck": ("--padding", "4096")}
"""Allocations may lie side by side: an access just behind one would be an access to the next."""
LIMIT_S = 300.0
_SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
_FIRST = re.compile(
    r"^=+ ((?:Invalid|Misaligned|Error|Warning|Uninitialized|Barrier|Program hit|Race|Leaked|Out-of-range).*)$",
    re.MULTILINE,
)
_ADDRESSES = re.compile(r"^=+ +(at .*|by thread .*|Address .*)$", re.MULTILINE)


def tool_path() -> str | None:
    """Where compute-sanitizer is; None where it is not installed."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=PLACES)


def read_report(text: str) -> Sanitized:
    """What a report says.

    Raises:
        NotRunError: it has no summary, or the program under the tool did not get to its end.
    """
    summary = _SUMMARY.findall(text)
    if not summary:
        raise NotRunError(f"compute-sanitizer gave no summary: {_last_line(text)}")
    errors = sum(int(count) for count in summary)
    if errors:
        first = _FIRST.search(text)
        told = first.group(1).strip() if first else "not described"
        places = [m.strip() for m in _ADDRESSES.findall(text[first.end() :] if first else "")[:2]]
        return Sanitized(errors, "; ".join([told, *places])[:500])
    if DONE not in text:
        raise NotRunError(f"the candidate could not be called under compute-sanitizer: {_last_line(text)}")
    return Sanitized(0)


def sanitize(warm: Warm, jail: Jail, tool: str, program: Sequence[str], files: Mapping[str, str]) -> Sanitized:
    """Run a program under one of the tool's checks, beside these files.

    Args:
        warm: the parent that confines children.
        jail: the candidate's confinement, which must let it start programs.
        tool: `memcheck` or `racecheck`.
        program: the command under the tool; it prints DONE as its last act.
        files: texts by name, written to its folder.

    Raises:
        NotRunError: the tool is missing, or said nothing.
    """
    path = tool_path()
    if path is None:
        raise NotRunError("compute-sanitizer is not installed")
    argv = [path, "--tool", tool, *OPTIONS, *OWN_OPTIONS.get(tool, ()), *program]
    child = Process(warm.spawn("tool", jail), LIMIT_S)
    try:
        executed = child.ask(Execute(argv=argv, texts=files))
    except (ChildGoneError, ChildSlowError, ChildRaisedError) as error:
        raise NotRunError(f"compute-sanitizer did not end: {error!r}") from None
    finally:
        child.close()
    return read_report(executed.log)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


PROGRAM = (sys.executable, "-m", "kernelwright.evaluate.entrypoints.tools.sanitized")
MOST_BYTES = 2 << 30
"""Of inputs and outputs: under compute-sanitizer a kernel is up to a hundred times as slow."""


class PlanAblation:
    """A plan of the launcher's, some of whose launches are skipped."""

    def __init__(self, process: PlanProcess, plan: LaunchPlan) -> None:
        self._process, self._plan = process, plan

    def launches(self) -> Sequence[str]:
        """See `Ablatable.launches`."""
        return [launch.kernel for launch in self._plan.launches]

    def without(self, launches: Sequence[int], offsets: Offsets) -> list[torch.Tensor]:
        """See `Ablatable.without`; a checked call poisons its results beforehand."""
        with self._process.without(launches):
            (results,) = self._process.run([offsets], checked=True).results
            return [self._process.read(found).clone() for found in results]


def of_a_plan(
    trial: Trial,
    warm: Warm,
    process: PlanProcess,
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
        ablatable=PlanAblation(process, plan),
        device_times=lambda: dict.fromkeys(names, 1.0),
        own_kernels=names,
        run_source=run_source,
        sanitize=lambda tool: _sanitized(warm, tool, job),
        absent=_too_large(trial),
    )


def of_a_model(trial: Trial, warm: Warm, is_library: bool) -> Instruments:
    """Instruments of tier two, where the candidate's own host code launches; it may have been compiled to a library."""
    init = trial.session.original.init_source()
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
