"""Admission of a directory: every task is examined, and none of them stops the rest.

The report file grows line by line, and the same source, versions and policy are examined once. A task that hangs, takes
the worker with it or does not fit the machine is not fit, or not examined, and the next one gets a new worker.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, get_args

from kernelwright.engine.events import Listener, Phase
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, TaskError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.admission import Admission, Checked, Reason, TaskReport
from kernelwright.records.base import identity
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, TaskSource
from kernelwright.report import html
from kernelwright.store.database import FILE as RUN
from kernelwright.store.files import Lines, open_lines, write_whole
from kernelwright.tasks.files import split_size, with_size
from kernelwright.tasks.table import READERS, read_task

REPORT = Path("admission.jsonl")
LIMIT_S = 900.0
"""Longest that one task may take to be examined."""


@dataclass(frozen=True)
class AdmissionRequest:
    """Which tasks are to be examined."""

    paths: tuple[Path, ...]
    """Files, and directories that are searched for them; `PATH@SIZE` for a size that the tasks list."""
    target: str | None = None
    policy: Policy = field(default_factory=Policy)
    lines: Path = REPORT
    """The report that is continued."""
    page: Path | None = None
    """Where the HTML page is written."""
    limit_s: float = LIMIT_S
    fresh: bool = False
    """Examine also what the report has already."""


class Examiner(NamedTuple):
    """What every task is examined with."""

    evaluator: Evaluator
    target: Target
    environment: Environment
    policy: Policy
    limit_s: float


class Found(NamedTuple):
    """A file, and the task in it or why there is none."""

    file: Path
    source: TaskSource | None
    fault: TaskError | None

    @property
    def name(self) -> str:
        """What the report calls it."""
        return self.source.name if self.source else split_size(self.file).name


def admit(request: AdmissionRequest, suppliers: Suppliers | None = None) -> Admission:
    """Examine every task.

    Raises:
        UsageError: a path does not exist, or there is no task below them.
        MachineError: the target is not here, or the sandbox is weaker than asked.
        StoreError: the report cannot be written.
    """
    return asyncio.run(_admit(request, suppliers or Suppliers()))


async def _admit(request: AdmissionRequest, suppliers: Suppliers) -> Admission:
    target = resolve_target(request.target)
    found, skipped = gather(request.paths)
    listener = suppliers.listener
    async with suppliers.evaluating(request.policy) as evaluator:
        environment = await evaluator.environment(target)
        examiner = Examiner(evaluator, target, environment, request.policy, request.limit_s)
        with open_lines(TaskReport, request.lines) as lines:
            known = {} if request.fresh else {line.key: line for line in lines.read()}
            tasks = [await _examine(examiner, file, known, lines) for file in _announce(found, listener)]
    admission = Admission(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        target=target,
        device=environment.device.name,
        versions=environment.versions,
        tasks=tuple(tasks),
        skipped=tuple(str(file) for file in skipped),
        all_fit=all(task.fit for task in tasks),
    )
    if request.page is not None:
        write_whole(request.page, html.render_admission(admission))
    return admission


def gather(paths: Sequence[Path]) -> tuple[list[Found], list[Path]]:
    """The tasks at these paths, and the files of directories that are none; in the order of their paths.

    Raises:
        UsageError: a path does not exist, or no task is there.
    """
    found: list[Found] = []
    skipped: list[Path] = []
    for file in _files(paths):
        one = _read(file)
        # A file that was named is examined whatever it is; what merely lies in a directory must look like a task.
        if one.fault is not None and one.fault.reason == "no_task" and file not in paths:
            skipped.append(file)
        else:
            found.append(one)
    if not found:
        raise UsageError(f"there is no task in {', '.join(map(str, paths))}: name files with Model and get_inputs")
    return found, skipped


def _files(paths: Sequence[Path]) -> list[Path]:
    files: set[Path] = set()
    for path in paths:
        below, size = split_size(path)
        if not below.exists():
            raise UsageError(f"{str(below)!r} does not exist: name files or directories of tasks")
        inside = (f for f in below.rglob("*") if f.suffix in READERS and f.is_file() and not _not_tasks(f, below))
        files.update((with_size(f, size) for f in inside) if below.is_dir() else (path,))
    return sorted(files)


def _not_tasks(file: Path, below: Path) -> bool:
    """Whether a file is hidden, or is what a run left in its folder."""
    hidden = any(part.startswith((".", "__")) for part in file.relative_to(below).parts)
    return hidden or (file.parent / RUN).is_file()


def _read(file: Path) -> Found:
    try:
        return Found(file, read_task(file), None)
    except TaskError as error:
        return Found(file, None, error)


def _announce(found: Sequence[Found], listener: Listener) -> Iterator[Found]:
    for place, one in enumerate(found, 1):
        listener(Phase(text=f"{one.file} ({place} of {len(found)})"))
        yield one


async def _examine(
    examiner: Examiner, one: Found, known: Mapping[str, TaskReport], lines: Lines[TaskReport]
) -> TaskReport:
    """The report of one file: the known one, or a new one that is written down before the next is begun."""
    key = _key(examiner, one)
    old = known.get(key)
    # What broke the referee is tried again: nothing is known of it.
    if old is not None and old.reason != "not_examined":
        return old.model_copy(update={"file": str(one.file), "name": one.name})
    start = time.monotonic()
    blank = TaskReport(
        key=key, file=str(one.file), name=one.name, fit=True, reason=None, message="", checks=(), seconds=0.0
    )
    report = blank.model_copy(update=await _ask_referee(examiner, one))
    report = report.model_copy(update={"seconds": time.monotonic() - start})
    lines.append(report)
    return report


async def _ask_referee(examiner: Examiner, one: Found) -> dict[str, object]:
    """The fields of a report that the referee's answer decides."""
    if one.source is None:
        reason = one.fault.reason if one.fault is not None and one.fault.reason == "no_task" else "unreadable"
        return _unfit(reason, str(one.fault))
    try:
        examined = await asyncio.wait_for(examiner.evaluator.examine(one.source, examiner.target), examiner.limit_s)
    except TaskError as error:
        return _unfit(error.reason, str(error))
    except TimeoutError:
        return _unfit("slow", f"it was not examined within {examiner.limit_s:.0f} s; make its inputs smaller")
    except KernelwrightError as error:
        return _unfit("not_examined", str(error))
    return {"checks": examined.checks, "task": examined.task}


def _unfit(reason: str, message: str) -> dict[str, object]:
    known = reason if reason in get_args(Reason) else "unfit"
    refused = Checked(name=known, status="refused", figure=message)
    return {"fit": False, "reason": known, "message": message, "checks": (refused,)}


def _key(examiner: Examiner, one: Found) -> str:
    source = one.source.identity_fields() if one.source else str(one.fault)
    return identity(
        "admission",
        {
            "source": source,
            "target": examiner.target.model_dump(mode="json"),
            "device": examiner.environment.device.name,
            "versions": dict(examiner.environment.versions),
            "policy": examiner.policy.model_dump(mode="json"),
        },
    )
