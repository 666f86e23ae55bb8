"""The evaluation service: finds the backend and the session of a task.

It keeps sessions open, and closes the oldest where there is no room.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from kernelwright.errors import MachineError, RefereeError, TaskError
from kernelwright.evaluate.backends.backend import Backend
from kernelwright.evaluate.backends.host import LIMIT_S, WHOLE, common_versions, reference_jail
from kernelwright.evaluate.backends.table import Backends
from kernelwright.evaluate.pipeline import admit, baselines, machine
from kernelwright.evaluate.pipeline.evaluate import build_candidate, evaluate_candidate, without_room
from kernelwright.evaluate.pipeline.examine import examine
from kernelwright.evaluate.pipeline.yardstick import yardstick
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import LOST, Jail
from kernelwright.evaluate.sandbox.messages.tools import Lower
from kernelwright.evaluate.sandbox.process import (
    ChildRaisedError,
    DeviceFullError,
    Process,
    ReferenceEndedError,
    TamperedError,
)
from kernelwright.evaluate.session.limits import tightened
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import Trial
from kernelwright.knowledge.hardware import hardware, sheet
from kernelwright.languages import language
from kernelwright.records.admission import Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Refused
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BaselineName, BuildFacts, Yardstick
from kernelwright.records.policy import UNTIMED, Effort, Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource, Workload

T = TypeVar("T")
FULL = (DeviceFullError, torch.OutOfMemoryError)
"""Nobody's fault: the device's memory is full, in a child that the referee trusts or in the referee itself."""
MOST_FULL = 3
"""Kernels of one task beside which the device is full, after which the task is too large."""
MOST_NAMES, MOST_REASON = 12, 300
"""Names of pointers, and characters of why there is no lowering, that are told."""
MOST_OPEN = int(os.environ.get("KERNELWRIGHT_OPEN_TASKS", "48"))
"""Tasks that stay open: their references share one user's limit on threads (`jail.MOST_THREADS`), and each holds a process.
Several workers on one machine share that limit too, so whoever starts them says how many each may keep."""


class EvaluationService:
    """One worker's state: the backends that were asked for, and the open sessions. It looks both up, and does no more."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._backends = Backends()
        self._sessions: dict[str, Session] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self._gone: dict[str, dict[str, str]] = {}
        """By task, baselines that ended the process of its reference, with how."""
        self._full: dict[str, int] = {}
        """By task, kernels in a row beside which there was no memory left."""
        self._yardsticks: dict[tuple[str, str, tuple[BaselineName, ...]], Yardstick] = {}
        """By task, policy and baselines: runs that are compared on one task are told the same."""
        self._lock = threading.RLock()
        """Held for a look into these, never for a turn: whoever has the turn may take it, not the other way round."""

    def backend(self, target: Target) -> Backend:
        """The backend of a target, opened at the first question.

        Raises:
            MachineError: its device is not here.
        """
        return self._backends.of(target)

    def admit(self, source: TaskSource, target: Target, policy: Policy) -> Task:
        """Admit a task and keep its session open.

        Raises:
            TaskError: it cannot be judged.
        """
        backend = self.backend(target)
        with backend.host.device_lock.shared():
            if policy.isolation == "strict":
                _must_confine(backend)
            self._note("running the reference in its sandbox")
            self._make_room(backend)
            give_way = partial(self._close_oldest, backend)
            opened = partial(admit.open_session, backend, source, target, policy, give_way)
            with _must_fit(source.name):
                session = self._with_room(backend, opened)
            task = session.original.task
            session.gone = self._gone.setdefault(task.id, {})
            if _keeps_baselines(backend, policy):
                session.known = baselines.load(self._place_of_baselines(task, policy))
            with self._lock:
                before = self._sessions.pop(task.id, None)
                self._sessions[task.id] = session
            if before is not None:
                before.close()
        return task

    def examine(self, source: TaskSource, target: Target, policy: Policy) -> Fitness:
        """Admit a task, look at it closely, and let go of it.

        Raises:
            TaskError: it cannot be judged.
        """
        backend = self.backend(target)
        with backend.host.device_lock:
            task = self.admit(source, target, policy)
            with self._lock:
                session = self._sessions.pop(task.id)
            try:
                self._note("taking the figures of each check")
                return examine(session, backend.clock).model_copy(update={"task": task})
            finally:
                session.close()

    def evaluate(self, task: Task, candidate: Candidate, policy: Policy, effort: Effort) -> Evaluation:
        """Evaluate one candidate; a final meets inputs that were drawn for it. Safe to call from several threads."""
        backend = self.backend(task.target)
        if (refused := _untaken(backend, task, candidate)) is not None:
            return refused
        trial = self._trial(task, candidate, policy, effort)
        self._note_what_takes_long(trial, backend)
        before = dict(trial.session.known)
        found = self._evaluated_in_room(trial, backend)
        if _keeps_baselines(backend, trial.policy) and trial.session.known != before:
            baselines.store(self._place_of_baselines(task, trial.policy), trial.session.known)
        return found

    def build(self, task: Task, candidate: Candidate, policy: Policy) -> Evaluation:
        """What the compiler says of a candidate: `Compiled`, or why not. Safe to call from several threads."""
        backend = self.backend(task.target)
        if (refused := _untaken(backend, task, candidate)) is not None:
            return refused
        return build_candidate(self._trial(task, candidate, policy), backend)

    def replay(self, task: Task, candidate: Candidate, policy: Policy, seeds: Sequence[int]) -> Evaluation:
        """Right or wrong on the cases of these seeds, or of new secret ones where none are named: no time is taken."""
        backend = self.backend(task.target)
        if (refused := _untaken(backend, task, candidate)) is not None:
            return refused
        self._note("the receipt's seeds: the same inputs again" if seeds else "new inputs, untimed")
        return self._evaluated_in_room(self._trial(task, candidate, policy, "replay", seeds), backend)

    def lower(self, source: TaskSource, target: Target, policy: Policy, options: Options) -> Lowering:
        """What PyTorch's compiler writes for a task. Safe to call from several threads."""
        self._note("asking torch.compile what it writes")
        # A compiler beside somebody's clock would be heard.
        backend = self.backend(target)
        with backend.host.device_lock.shared():
            return lower(backend, source, target, policy, options)

    def profile(self, task: Task, candidate: Candidate, policy: Policy, build: BuildFacts | None) -> Profile:
        """Where the candidate's time goes, as well as this machine can tell. What it was evaluated as plays no part."""
        return self.backend(task.target).profile(self._trial(task, candidate, policy), build)

    def yardstick(self, task: Task, policy: Policy, names: Sequence[BaselineName]) -> Yardstick:
        """What the task's kernels are held against."""
        backend, policy = self.backend(task.target), tightened(policy, task.source)
        key = task.id, policy.model_dump_json(), tuple(names)

        def measured() -> Yardstick:
            session = self._session(task, policy)
            session.policy = policy
            backend.activate(session)
            backend.host.in_use = session
            try:
                return yardstick(session, backend.clock, names)
            finally:
                backend.host.in_use = None

        with backend.host.device_lock:
            if key not in self._yardsticks:
                if backend.clock is not None:
                    self._note(f"timing {' and '.join(names)}, which kernels are held against")
                with _must_fit(task.name):
                    work = partial(self._with_room, backend, measured, task.id)
                    self._yardsticks[key] = self._without_gone(task.id, work)
            return self._yardsticks[key]

    def environment(self, target: Target) -> Environment:
        """Device with its measured bandwidth, versions, and the sandbox in force."""
        backend, gbps = self.backend(target), None
        with backend.host.device_lock:
            if backend.clock is not None:
                self._note("measuring the memory bandwidth")
                gbps = backend.clock.ceiling_gbps(WHOLE)
            denied = _denied(backend)
        return Environment(
            device=backend.host.device.model_copy(update={"memory_gbps": gbps}),
            versions=self.versions(target),
            isolation=tuple(part for part in LOST if part not in denied),
            denied=tuple(f"{part}: {LOST[part]}" for part in denied),
        )

    def versions(self, target: Target) -> dict[str, str]:
        """Of everything that can change a measurement for this target."""
        return {**common_versions(), **self.backend(target).versions()}

    def close(self) -> None:
        """End every child and the warm parents."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._backends.close()

    def _trial(
        self, task: Task, candidate: Candidate, policy: Policy, effort: Effort = "search", seeds: Sequence[int] = ()
    ) -> Trial:
        policy = tightened(policy, task.source)
        return Trial(task, lambda: self._session(task, policy), candidate, policy, effort, seeds)

    def _evaluated_in_room(self, trial: Trial, backend: Backend) -> Evaluation:
        """The Evaluation; where the device is full, once more with nothing else open.

        Raises:
            RefereeError: the referee broke.
            TaskError: the device is too small for the task.
        """
        task = trial.task
        try:
            work = partial(self._with_room, backend, partial(evaluate_candidate, trial, backend), task.id)
            found = self._without_gone(task.id, work)
        except FULL as error:
            return self._beside_it(trial, backend, error)
        except RefereeError:
            # A reference that broke answers nothing more: whoever asks next has the task admitted anew.
            self._close(task.id)
            raise
        self._full.pop(task.id, None)
        return found

    def _note_what_takes_long(self, trial: Trial, backend: Backend) -> None:
        policy, effort = trial.policy, trial.effort
        if backend.clock is not None and effort not in UNTIMED:
            asked = baselines.asked(policy, effort, backend.clock, policy.weights == "constant")
            named = {"compile", "compile_max", "freeze"} & set(
                baselines.to_time(trial.session, asked, effort, backend.clock)
            )
            if named - set(trial.session.prepared):
                self._note("compiling the torch.compile baselines, once for this task")
        if effort == "final":
            self._note("final: fresh inputs, head to head" if backend.clock is not None else "final: fresh inputs")

    def _with_room(self, backend: Backend, work: Callable[[], T], task: str = "") -> T:
        """What `work` gives; where the device's memory is full, once more with all other tasks closed.

        Raises:
            DeviceFullError, torch.OutOfMemoryError: it is full again.
        """
        try:
            return work()
        except FULL:
            # Outside of the handler: the traceback holds what is to be freed.
            pass
        self._note("the device's memory is full: closing all tasks, and once more")
        # Alone: what other threads judge with a session is over then, and so is what other workers did beside it.
        with backend.host.device_lock:
            self._close(task)
            while self._close_oldest(backend):
                pass
            return work()

    def _without_gone(self, task: str, work: Callable[[], T]) -> T:
        """What `work` gives; a compiled baseline that ends the reference's process is named, and left out of it.

        Raises:
            RefereeError: the reference ended for another reason, or at one that was left out.
        """
        while True:
            try:
                return work()
            except ReferenceEndedError as error:
                self._close(task)
                gone = self._gone.setdefault(task, {})
                if error.variant in gone:
                    raise
                gone[error.variant] = error.reason
                self._note(f"the baseline {error.variant} ends the reference's process: going on without it")

    def _beside_it(self, trial: Trial, backend: Backend, error: Exception) -> Evaluation:
        """What a kernel comes to whose own host code is there while the device is full, twice.

        That the task could be admitted does not tell that there is room to judge it: of several in a row it is no kernel's
        doing.

        Raises:
            TaskError: it is no kernel's doing: nothing was loaded yet, or nothing that allocates.
        """
        task = trial.task
        with backend.host.device_lock:
            self._close(task.id)
            self._full[task.id] = self._full.get(task.id, 0) + 1
        if trial.found.stage == "compile" or trial.found.tier == 1 or self._full[task.id] >= MOST_FULL:
            raise _too_large(task.name, error) from None
        return without_room(trial, backend, error)

    def _make_room(self, backend: Backend) -> None:
        """Close the tasks that nobody has asked about for longest, until one more may be open, and there is memory for it."""
        while self._is_full() and self._close_oldest(backend):
            pass

    def _is_full(self) -> bool:
        return len(self._sessions) >= MOST_OPEN or machine.is_short(machine.memory())

    def _close(self, task: str) -> None:
        """Close a task's session, if it is open."""
        with self._lock:
            session = self._sessions.pop(task, None)
        if session is not None:
            session.close()

    def _close_oldest(self, backend: Backend) -> bool:
        """See `CloseOldest`."""
        with self._lock:
            mine = {k: s for k, s in self._sessions.items() if self.backend(s.task.target) is backend}
            oldest = next((k for k, s in mine.items() if s is not backend.host.in_use), None)
            if oldest is None:
                return False
            session = self._sessions.pop(oldest)
        session.close()
        return True

    def _place_of_baselines(self, task: Task, policy: Policy) -> Path:
        """Where what is known of a task's baselines lies."""
        target = task.target
        with self._lock:
            if target.kind not in self._versions:
                self._versions[target.kind] = self.versions(target)
        device = self.backend(target).host.device
        return baselines.place_on_disk(task, device, self._versions[target.kind], policy)

    def _session(self, task: Task, policy: Policy) -> Session:
        """The task's open session. Its facts are there at once, its cases for whoever has the machine's turn."""
        if (found := self._opened(task)) is not None:
            return found
        with self.backend(task.target).host.device_lock.shared():
            # Another thread may have had its turn first.
            while (found := self._opened(task)) is None:
                admitted = self.admit(task.source, task.target, policy)
                if admitted.id != task.id:
                    raise RefereeError(
                        f"the task {task.name!r} is not what it was when the run began: torch or the domains have "
                        "changed. Start a new run."
                    )
            return found

    def _opened(self, task: Task) -> Session | None:
        with self._lock:
            if task.id in self._sessions:
                # The order of this dict is that of use.
                self._sessions[task.id] = self._sessions.pop(task.id)
            return self._sessions.get(task.id)


@contextmanager
def _must_fit(name: str) -> Iterator[None]:
    """A task's own work, which no kernel can be blamed for.

    Raises:
        TaskError: the device is full.
    """
    try:
        yield
    except FULL as error:
        raise _too_large(name, error) from None


def _too_large(name: str, error: Exception) -> TaskError:
    told = f"the device has no memory to judge {name!r}, with nothing else of this worker's open: {error}. "
    cure = "Make its inputs smaller, or end what other processes keep there (nvidia-smi names them)."
    return TaskError(told + cure, "too_large")


def _must_confine(backend: Backend) -> None:
    lost = "; ".join(f"{part}, so that {LOST[part]}" for part in _denied(backend))
    if lost:
        raise MachineError(
            f"isolation is strict, and this host denies {lost}. Allow user namespaces, mounts, Landlock and seccomp "
            "(in a container: no seccomp profile of the engine's, and CAP_SYS_ADMIN), or judge with isolation auto "
            "kernels that you trust."
        )


def _denied(backend: Backend) -> tuple[str, ...]:
    """What a candidate's process would have to do without on this host."""
    child = backend.host.warm.spawn("tool", Jail(directory="/"))
    child.close()
    return child.denied


def _keeps_baselines(backend: Backend, policy: Policy) -> bool:
    """Whether baselines of earlier runs may stand for today's in a search."""
    kept = backend.clock is not None and backend.clock.keeps_baselines
    return kept and policy.cached_baselines and not policy.disabled


def _untaken(backend: Backend, task: Task, candidate: Candidate) -> Refused | None:
    """Why a candidate in this language is not for this target, or one with these arguments not for this task."""
    if candidate.language in backend.languages:
        return other_arguments(task.workload, candidate)
    names = " or ".join(backend.languages)
    return Refused(reason=f"target {task.target.name} takes {names} candidates, not {candidate.language}")


def other_arguments(load: Workload, candidate: Candidate) -> Refused | None:
    """Why a candidate is refused whose text says for certain that it takes another number of pointers than it gets."""
    written = language(candidate.language)
    takes = written.pointers(candidate.source, candidate.entry) if written.form == "function" else None
    handed = names(load)
    # Scratch memory comes last, and need not be taken.
    if takes is None or len(handed) <= takes <= len(handed) + (candidate.workspace_bytes > 0):
        return None
    told = f"takes {takes} pointer{'' if takes == 1 else 's'}, the task hands over {len(handed)}: {_listed(handed)}"
    more = "; one more, for scratch memory, comes last where its size is stated" if takes > len(handed) else ""
    return Refused(reason=f"{candidate.entry} {told}{more}")


def names(load: Workload) -> list[str]:
    """What the pointers of a call point to, in order."""
    given = [t.name for t in (*load.tensors, *load.parameters)]
    outputs = ["out"] if len(load.outputs) == 1 else [f"out{i}" for i in range(len(load.outputs))]
    return given + outputs


def _listed(handed: list[str]) -> str:
    if len(handed) <= MOST_NAMES:
        return ", ".join(handed)
    return f"{', '.join(handed[: MOST_NAMES - 1])}, … {handed[-1]}"


def lower(backend: Backend, source: TaskSource, target: Target, policy: Policy, options: Options) -> Lowering:
    """The text, or why there is none: whatever the task's code and the compiler raise is a reason, not a fault."""
    device = (sheet(target.device) or hardware(target.arch)) if backend.is_gpu else None
    command = Lower(
        source=source.source,
        numerics=policy.numerics,
        device=device,
        threads=backend.host.device.cores,
        options=options,
    )
    child = Process(backend.host.warm.spawn("lowering", reference_jail(policy.memory_bytes * 2)), LIMIT_S)
    try:
        return child.ask(command).lowering
    except ChildRaisedError as raised:
        return Lowering(missing=_last_line(raised))
    except (ChildGoneError, ChildSlowError, TamperedError) as error:
        return Lowering(missing=f"the process that ran the compiler failed: {error}"[:MOST_REASON])
    finally:
        child.close()


def _last_line(raised: ChildRaisedError) -> str:
    lines = [line.strip() for line in raised.log.splitlines() if line.strip()]
    return (lines[-1] if lines else raised.name)[:MOST_REASON]
