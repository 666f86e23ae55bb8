"""An audit: kernels that were published are judged here, and what was claimed is put beside what is measured.

Kernels of one task are judged one after the other, so that it is admitted once. The file of verdicts grows line by line; the
same kernel on the same task, device, versions and policy is judged once. A kernel that hangs, takes the worker with it or
cannot be read stops none of the others.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kernelwright.engine.events import Listener, Phase
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import KernelwrightError, TaskError, UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.pages import page
from kernelwright.records.base import identity
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.published import AuditedKernel, KernelAudit, PublishedKernel, reason_class, summarise
from kernelwright.records.reasons import reason_of
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task
from kernelwright.report.audit import render_audit
from kernelwright.store.files import Lines, open_lines, write_whole
from kernelwright.tasks.kernel_file import parse_kernel, parse_text, with_declared
from kernelwright.tasks.kernelbench import parse_kernelbench
from kernelwright.tasks.published.table import read_published

LINES, PAGE, JSON = "kernels.jsonl", "audit.html", "audit.json"
"""The files of an audit's folder."""
LIMIT_S = 600.0
"""Longest that one kernel may take, its task's admission included."""
BROKEN = "not judged"
"""The reason where the referee or the machine broke: nothing is known of the kernel, and it is tried again."""
NO_KERNEL = ("task: unreadable", "task: no_task", "unreadable kernel")
"""What a file comes to that is no kernel beside its task."""
PUBLISHED = Policy(weights="constant", unmatched="construction")
"""Published kernels are for inference, and their modules are their authors' own."""


@dataclass(frozen=True)
class AuditRequest:
    """What is to be audited."""

    path: Path
    """See `tasks/published/table.py`."""
    tasks: Path | None = None
    """Where the tasks are, if the published files only refer to them."""
    target: str | None = None
    policy: Policy = PUBLISHED
    effort: Effort = "final"
    folder: Path = Path("audit")
    """Where the verdicts, the page and the JSON are written; what is there is continued."""
    limit_s: float = LIMIT_S
    fresh: bool = False
    """Judge also what is judged already."""


@dataclass
class _Auditor:
    """What every kernel is judged with."""

    evaluator: Evaluator
    target: Target
    environment: Environment
    request: AuditRequest
    tasks: dict[str, Task | TaskError] = field(default_factory=dict)
    """What became of each task, by its text."""


class AuditResult(NamedTuple):
    """An audit that is over, and where it was written."""

    audit: KernelAudit
    page: Path
    json: Path


def audit(request: AuditRequest, suppliers: Suppliers | None = None) -> AuditResult:
    """Judge every kernel.

    Raises:
        UsageError: there is nothing to audit.
        MachineError: the target is not here, or the sandbox is weaker than asked.
        StoreError: the folder cannot be written.
    """
    return asyncio.run(_audit(request, suppliers or Suppliers()))


async def _audit(request: AuditRequest, suppliers: Suppliers) -> AuditResult:
    target = resolve_target(request.target)
    published = read_published(request.path, request.tasks)
    _make(request.folder)
    async with suppliers.evaluating(request.policy) as evaluator:
        environment = await evaluator.environment(target)
        auditor = _Auditor(evaluator, target, environment, request)
        with open_lines(AuditedKernel, request.folder / LINES) as lines:
            known = {} if request.fresh else {line.key: line for line in lines.read()}
            found = await _judge_all(auditor, published, (known, lines), suppliers.listener)
    kernels = tuple(found)
    if kernels and all(kernel.reason in NO_KERNEL for kernel in kernels):
        raise UsageError(
            f"{request.path}: nothing there is a published kernel beside its task: {kernels[0].message}. "
            f"{page('audit.md')} has every form"
        )
    done = KernelAudit(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=str(request.path),
        target=target,
        device=environment.device.name,
        versions=environment.versions,
        weights=request.policy.weights,
        summary=summarise(kernels),
        kernels=kernels,
    )
    written = write_whole(request.folder / PAGE, render_audit(done), follow=False)
    return AuditResult(done, written, write_whole(request.folder / JSON, done.model_dump_json(indent=1), follow=False))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror}): name another folder with --out") from None


Book = tuple[Mapping[str, AuditedKernel], Lines[AuditedKernel]]
"""What is known, and where it is written down."""


async def _judge_all(
    auditor: _Auditor, published: Sequence[PublishedKernel], book: Book, listener: Listener
) -> list[AuditedKernel]:
    """Task by task; in the order of publication."""
    order = {reference: n for n, reference in enumerate(dict.fromkeys(one.reference for one in published))}
    found: dict[int, AuditedKernel] = {}
    places = sorted(range(len(published)), key=lambda n: order[published[n].reference])
    for done, place in enumerate(places, 1):
        listener(Phase(text=f"{published[place].name} ({done} of {len(published)})"))
        found[place] = await _judge_one(auditor, published[place], book)
    return [found[place] for place in range(len(published))]


async def _judge_one(auditor: _Auditor, one: PublishedKernel, book: Book) -> AuditedKernel:
    """The known verdict, or a new one that is written down before the next kernel is begun."""
    key, (known, lines) = _key(auditor, one), book
    if (old := known.get(key)) is not None and old.reason != BROKEN:
        return old.model_copy(update={"published": one})
    start = time.monotonic()
    audited = AuditedKernel(key=key, published=one, reason="").model_copy(update=await _verdict_fields(auditor, one))
    audited = audited.model_copy(update={"seconds": time.monotonic() - start})
    lines.append(audited)
    return audited


async def _verdict_fields(auditor: _Auditor, one: PublishedKernel) -> dict[str, object]:
    """The fields of a verdict."""
    if one.missing:
        return {"reason": "nothing to judge", "message": one.missing}
    try:
        return await asyncio.wait_for(_evaluate(auditor, one), auditor.request.limit_s)
    except TaskError as error:
        return {"reason": f"task: {error.reason}", "message": str(error)}
    except UsageError as error:
        return {"reason": "unreadable kernel", "message": str(error)}
    except TimeoutError:
        return {"reason": BROKEN, "message": f"it was not judged within {auditor.request.limit_s:.0f} s"}
    except KernelwrightError as error:
        return {"reason": BROKEN, "message": str(error)}


async def _evaluate(auditor: _Auditor, one: PublishedKernel) -> dict[str, object]:
    kind, suffix = auditor.target.kind, one.suffix
    candidate = parse_text(one.kernel, kind) if suffix == ".py" else with_declared(parse_kernel(one.kernel, suffix))
    task = await _admit_once(auditor, one)
    evaluation = await auditor.evaluator.evaluate(task, candidate, auditor.request.effort)
    return {"evaluation": evaluation, "reason": reason_class(evaluation), "message": reason_of(evaluation)}


async def _admit_once(auditor: _Auditor, one: PublishedKernel) -> Task:
    """The task, admitted once.

    Raises:
        TaskError: it cannot be judged, whichever kernel asks.
    """
    known = auditor.tasks.get(one.reference)
    if known is None:
        try:
            source = parse_kernelbench(one.reference, one.name, Path(one.origin))
            known = await auditor.evaluator.admit(source, auditor.target)
        except TaskError as error:
            known = error
        auditor.tasks[one.reference] = known
    if isinstance(known, TaskError):
        raise known
    return known


def _key(auditor: _Auditor, one: PublishedKernel) -> str:
    return identity(
        "audited",
        {
            "published": one.key,
            "target": auditor.target.model_dump(mode="json"),
            "device": auditor.environment.device.name,
            "versions": dict(auditor.environment.versions),
            "policy": auditor.request.policy.model_dump(mode="json"),
            "effort": auditor.request.effort,
        },
    )
