"""The new-best audit: a new best is probed before it is believed. A stage of its own, timed and reported separately.

Instruments that a target lacks (launches that can be left out, a profiler, compute-sanitizer) are None, and their
probes say so.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial

from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.pipeline import probes
from kernelwright.evaluate.pipeline.probes import PROBES, ProbeFailedError, Scene
from kernelwright.evaluate.session.loaded import Ablatable, Instruments, LoadedCandidate, NotRunError, Sanitized
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.defences import Defences, ProbeName
from kernelwright.records.evaluation import Audit, Evaluation, Incorrect, Measured, Probe, Refused, Suspect

OWN_SHARE = 0.99
"""Of the device's time that own kernels must take where library calls are forbidden: the rest are fills and copies."""

UNTOLD = (
    "library calls are forbidden, and whose kernels its own host code runs cannot be told for sure: write the host code "
    "so that the referee can launch for it, as the contract of its language says"
)


def audited(trial: Trial, clock: Clock, loaded: LoadedCandidate, outcome: Evaluation) -> Evaluation:
    """The outcome of a final, probed if it was measured; any other outcome as it is.

    Raises:
        as `ComputeProcess.run`.
    """
    if trial.effort != "final" or not isinstance(outcome, Measured):
        return outcome
    with trial.timed("promote"):
        # The clock's baselines need their memory no more; the probes do.
        trial.session.memory.rest()
        return audit_new_best(trial, outcome, Scene(trial.session, loaded, clock.busy()), loaded.instruments())


def audit_new_best(trial: Trial, measured: Measured, scene: Scene, instruments: Instruments) -> Evaluation:
    """The measured candidate with its probes, or what it is instead.

    Raises:
        as `ComputeProcess.run`.
    """
    with _tools(instruments, trial.policy.defences) as sanitized:
        return _probed(trial, measured, scene, instruments, sanitized)


def _probed(
    trial: Trial, measured: Measured, scene: Scene, instruments: Instruments, sanitized: Callable[[str], str]
) -> Evaluation:
    share = _Share(instruments, trial.policy.library_calls == "forbid")
    made: dict[ProbeName, Callable[[], str]] = {
        **{name: partial(probe, scene) for name, probe in PROBES.items()},
        "source": lambda: _source(instruments),
        "ablation": lambda: ablation(scene, instruments.ablatable),
        "own_share": share,
        "memcheck": lambda: sanitized("memcheck"),
        "racecheck": lambda: sanitized("racecheck"),
    }
    found: list[Probe] = []
    for name in trial.policy.defences.on(made):
        probe = made[name]
        start = time.perf_counter()
        try:
            told, status = _run(name, probe, instruments)
        except ProbeFailedError as failed:
            return _outcome(trial, name, failed)
        finally:
            scene.session.forget_parameters()
        found.append(Probe(name=name, status=status, evidence=told, seconds=time.perf_counter() - start))
    return measured.model_copy(update={"audit": Audit(probes=tuple(found), own_share=share.found)})


def ablation(scene: Scene, ablatable: Ablatable | None) -> str:
    """Without its own kernels a result must be wrong; else they are decoration, and something else computes it."""
    if ablatable is None:
        raise NotRunError("its launches cannot be left out")
    scene.must_have_outputs()
    case, names = scene.session.present(scene.session.cases[0]), ablatable.launches()
    if not names:
        raise ProbeFailedError("decoration", "it launches no kernel of its own")

    def still_right(launches: Sequence[int]) -> bool:
        # What a launch left behind for the next one must not be this case's: another case is computed first.
        scene.compute([probes.elsewhere(scene)])
        return scene.wrong(case, ablatable.without(launches, case.offsets), plainly=True) is None

    everything = list(range(len(names)))
    if still_right(everything):
        raise ProbeFailedError("decoration", f"its result is right without any of its kernels ({', '.join(names)})")
    idle = [names[i] for i in everything if len(names) > 1 and still_right([i])]
    if len(names) > 1 and len(idle) == len(names):
        raise ProbeFailedError(
            "decoration", f"its result is right without each one of its kernels ({', '.join(names)})"
        )
    if idle:
        return f"wrong without its kernels; without {', '.join(idle)} alone it is still right"
    return f"wrong without any one of its {len(names)} launches"


def own_share(times: Mapping[str, float], own: Sequence[str]) -> float:
    """Share of the device's time that kernels of these names took; zero where nothing ran.

    A profiler's name may be demangled or carry a suffix, so that one that begins with an own name is own.
    """
    total = sum(times.values())
    mine = sum(us for name, us in times.items() if any(name == o or name.startswith((f"{o}(", f"{o}_")) for o in own))
    return mine / total if total else 0.0


class _Share:
    """The probe of the own kernels' share, which remembers the figure."""

    def __init__(self, instruments: Instruments, forbidden: bool) -> None:
        self._instruments, self._forbidden = instruments, forbidden
        self.found: float | None = None

    def __call__(self) -> str:
        if self._instruments.device_times is None:
            if self._forbidden:
                raise ProbeFailedError("library_calls", UNTOLD)
            raise NotRunError("nothing here tells kernels' times apart")
        times = self._instruments.device_times()
        self.found = own_share(times, self._instruments.own_kernels)
        own = self._instruments.own_kernels
        untrusted = [name for name in times if own_share({name: 1.0}, own) == 0.0]
        told = f"{self.found:.1%} of the device's time in own kernels"
        told += f"; others: {', '.join(sorted(untrusted)[:5])}" if untrusted else ""
        if self._forbidden and self.found < OWN_SHARE:
            raise ProbeFailedError("library_calls", f"library calls are forbidden, and only {told}")
        return told


def _source(instruments: Instruments) -> str:
    if instruments.run_source is None:
        raise NotRunError("its own host code was judged all along, or it has none")
    return instruments.run_source()


@contextmanager
def _tools(instruments: Instruments, defences: Defences) -> Iterator[Callable[[str], str]]:
    """compute-sanitizer's checks, in words. The first that is asked for begins all: what takes them long is to start.

    None is under way any more at the end: the next clock would meet it.
    """
    begun: dict[str, Future[Sanitized]] = {}
    tools = {"memcheck": defences.memcheck, "racecheck": defences.racecheck}
    wanted = [tool for tool, on in tools.items() if on and tool not in instruments.absent]
    with ThreadPoolExecutor(max(1, len(wanted))) as pool:

        def found(tool: str) -> str:
            sanitize = instruments.sanitize
            if sanitize is None:
                raise NotRunError("compute-sanitizer is not here")
            if not begun:
                begun.update({name: pool.submit(copy_context().run, sanitize, name) for name in wanted})
            return _told(tool, begun[tool].result())

        yield found


def _told(tool: str, found: Sanitized) -> str:
    if found.errors:
        because = "race" if tool == "racecheck" else "memory_error"
        raise ProbeFailedError(because, f"compute-sanitizer {tool}: {found.errors} errors; the first: {found.first}")
    return f"compute-sanitizer {tool}: no errors"


def _run(name: ProbeName, probe: Callable[[], str], instruments: Instruments) -> tuple[str, str]:
    try:
        if name in instruments.absent:
            raise NotRunError(instruments.absent[name])
        return probe(), "passed"
    except NotRunError as reason:
        return str(reason), "not_run"


def _outcome(trial: Trial, name: str, failed: ProbeFailedError) -> Evaluation:
    if failed.because == "library_calls":
        return Refused(reason=failed.evidence)
    if failed.because == "decoration":
        return Suspect(because="decoration", evidence=failed.evidence)
    return Incorrect.model_validate(
        {"because": failed.because, "case": f"probe: {name}", "evidence": failed.evidence, "accuracy": trial.accuracy}
    )
