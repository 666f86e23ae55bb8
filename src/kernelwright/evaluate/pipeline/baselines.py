"""Whom a candidate is timed against, and what is known of a baseline from an earlier benchmark.

In a search on a GPU, eager is timed beside every candidate: it must run anyway, to say what each timed result should be.
The other baselines are timed in the first benchmark on a task, or were in an earlier run's; after that a candidate's
speedup over one of them is its own speedup over eager times the known ratio, with an interval for which both must hold,
and marked as cached. The search's figures are never published; a final times everybody anew. Serial code beside a device is
the exception (`over_serial`).

What is known lies on disk, for one task, device and set of versions. What cannot be read is measured again; what cannot be
written is done without.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from kernelwright.evaluate.backends import kept
from kernelwright.evaluate.backends.backend import Clock
from kernelwright.evaluate.sandbox.messages.calls import Prepare
from kernelwright.evaluate.sandbox.process import DeviceFullError, ReferenceRaisedError
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.timing import statistics
from kernelwright.evaluate.timing.statistics import Stopping, schedule
from kernelwright.evaluate.verify.compare import Expected, Recomputed
from kernelwright.pages import cache_folder
from kernelwright.records.base import identity
from kernelwright.records.measure import BaselineName, Ratio, Versus
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Device
from kernelwright.records.task import Task

_RAISED = re.compile(r"[\w.]+(?:Error|Exception|Interrupt)\b")
COMPILE_LIMIT_S = 600.0
"""After which a reference that compiles is taken to hang."""
GROSS, GROSSLY = 2.0**-6, 64
"""What a baseline errs at least, and how many times what a kernel may, to be called wrong: a compiler rounds as it likes."""
FORM = 3
"""Raised whenever baselines are timed in another way."""
Ratios = dict[BaselineName, Ratio]
_KNOWN: TypeAdapter[Ratios] = TypeAdapter(Ratios)


def asked(policy: Policy, effort: Effort, clock: Clock, constant: bool = False) -> tuple[BaselineName, ...]:
    """The baselines that an evaluation of this effort names, of those that there are on this device.

    Where weights are constant, and torch.compile is compared with, it may fold them too.
    """
    names = [*policy.baselines, *(policy.final_baselines if effort == "final" else ())]
    names += ["freeze"] if constant and "compile" in names else []
    return tuple(n for n in dict.fromkeys(names) if n in clock.baselines)


def made(session: Session, names: Sequence[BaselineName]) -> tuple[list[BaselineName], tuple[str, ...]]:
    """Those that are ready to be timed, and of the others why they are not."""
    why = {name: _prepare(session, name) for name in names}
    return [n for n in names if not why[n]], tuple(f"{n}: {told}" for n, told in why.items() if told)


def _prepare(session: Session, variant: BaselineName) -> str:
    """Make a baseline ready, once for a session: why it cannot be made, or nothing.

    Takes minutes where the compiler's cache is cold.
    """
    if variant in session.gone:
        return f"it ended the reference's process ({session.gone[variant]})"
    if variant not in session.prepared and variant != "eager":
        windows = [session.cases[0].offsets[: len(session.inputs)]]
        tuning_s = session.policy.tuning_limit_s
        try:
            command = Prepare(variant=variant, calls=windows, limit_s=tuning_s)
            prepared = session.reference.ask(command, limit_s=COMPILE_LIMIT_S + tuning_s)
            if variant == "compile":
                session.reference.compute(windows, variant, COMPILE_LIMIT_S)
            session.prepared[variant] = prepared.missing or _wrong(session, variant)
        except ReferenceRaisedError as error:
            session.prepared[variant] = f"it raised {_exception(str(error))[:300]}"
        except DeviceFullError as error:
            leave_out(session, variant, error)
    return session.prepared.get(variant, "")


def _exception(log: str) -> str:
    """The line of a traceback that names the exception: torch puts advice behind it."""
    lines = log.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if _RAISED.match(line)), lines[-1])


def _wrong(session: Session, variant: BaselineName) -> str:
    """Why nobody is compared with what PyTorch's compiler made: it is far from right; empty where it is not."""
    if not variant.startswith("compile") or session.memory.device != "cpu":
        return ""  # on a device nothing keeps what a baseline computes: memory for it may not be there
    case = session.present(session.cases[0])
    try:
        found = session.results(variant, case.offsets)
    finally:
        session.load_parameters(session.timed_parameters())
    for i, (result, expected) in enumerate(zip(found, case.expected, strict=True)):
        if result.shape != expected.value.shape:
            return f"its result {i} has shape {list(result.shape)}, not {list(expected.value.shape)}"
        if isinstance(expected, Expected | Recomputed) and result.is_floating_point():
            error = expected.judge([result])[0]
            if error > max(GROSS, GROSSLY * expected.allowed):
                return f"its result {i} is wrong (relative error {error:.2g}, of a kernel {expected.allowed:.2g} is allowed)"
    return ""


def try_again(session: Session) -> None:
    """What could not be made is asked for once more: under this policy there is more time."""
    session.prepared = {name: why for name, why in session.prepared.items() if not why}


def leave_out(session: Session, variant: str, error: DeviceFullError) -> None:
    """There is no device memory for a baseline: no later candidate asks for it again."""
    session.prepared[variant] = f"no device memory for it ({error.part})"


def to_time(session: Session, names: Sequence[BaselineName], effort: Effort, clock: Clock) -> list[BaselineName]:
    """Those that must be timed beside this candidate."""
    cached = effort == "search" and session.policy.cached_baselines and clock.keeps_baselines
    return [n for n in names if not cached or n not in session.known]


def remember(session: Session, samples: dict[str, list[float]], rule: Stopping) -> None:
    """Keep how the baselines of a benchmark compare with eager."""
    for name in rule.baselines:
        if name != "eager":
            looks, half = len(schedule(rule.most)), (1 + rule.confidence) / 2
            session.known[name] = statistics.ratio(samples[name], samples["eager"], half, looks)


def through_eager(
    known: Ratio, name: BaselineName, samples: dict[str, list[float]], rule: Stopping, effect_times: float = 1.0
) -> Versus:
    """The comparison with a baseline that was not there, by way of eager; wider, and marked.

    `known` says how many times eager's time it takes, with half of the error that `rule` allows.
    """
    half = (1 + rule.confidence) / 2
    eager = statistics.ratio(samples["eager"], samples["candidate"], half, len(schedule(rule.most)))
    found = statistics.through(eager, known)
    return Versus.judged(name, found, rule.effect(samples["eager"]) * effect_times, cached=True)


def over_serial(
    session: Session, effort: Effort, samples: dict[str, list[float]], rule: Stopping, effect_times: float = 1.0
) -> Versus:
    """The comparison with serial code on the host of a device: what it takes, profiled once, over what the kernel takes.

    The host's time scatters as no device's does, and pairing blocks takes nothing of that away. Profiled anew for each
    kernel it would decide which of two kernels is the faster, so all kernels of a session are held against one
    BaseRuntime (ReGraphT, arXiv 2510.19873, algorithm 1). The interval has the uncertainty of both.
    """
    looks, half = len(schedule(rule.most)), (1 + rule.confidence) / 2
    cached = effort in session.serial_us
    if not cached:
        session.serial_us[effort] = statistics.ratio(samples["eager"], [1.0] * len(samples["eager"]), half, looks)
    per_us = statistics.ratio([1.0] * len(samples["candidate"]), samples["candidate"], half, looks)
    found = statistics.through(per_us, session.serial_us[effort])
    return Versus.judged("eager", found, rule.effect(samples["eager"]) * effect_times, cached)


def place_on_disk(task: Task, device: Device, versions: Mapping[str, str], policy: Policy) -> Path:
    """The file for a task on a device, with everything that can change how its baselines compare."""
    same = device.model_dump(mode="json", exclude={"memory_gbps"})
    rule: JsonValue = {"confidence": policy.confidence, "blocks": policy.search_blocks}
    known: dict[str, JsonValue] = {
        "form": FORM, "task": task.id, "device": same, "versions": dict(versions), "rule": rule
    }  # fmt: skip
    return cache_folder() / "baselines" / f"{identity('baselines', known)}.json"


def load(file: Path) -> Ratios:
    """How many times eager's time each baseline took; empty when there is nothing legible."""
    return kept.read(_KNOWN, file) or {}


def store(file: Path, known: Ratios) -> None:
    """Keep it; whole or not at all."""
    kept.keep(_KNOWN, file, known)
