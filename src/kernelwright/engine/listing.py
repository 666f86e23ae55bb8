"""The list of the runs in a folder: what is summed up once, as it ends, is not read again until its journal changes.

It imports little: a list of thousands of runs takes hardly longer than Python's own start.
"""

from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from kernelwright.engine.summary import RunSummary, UnreadableRun, summarize
from kernelwright.errors import StoreError
from kernelwright.execution.turns import queues
from kernelwright.store.cache import judge_digest
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore
from kernelwright.store.summaries import Summaries, summaries_file

MAKERS = ("engine", "records", "report")
"""Packages whose code decides what a summary says."""


def list_runs(runs: Path) -> list[RunSummary | UnreadableRun]:
    """Every run below a folder, the oldest first; one that is corrupt hides no other."""
    kept = Summaries(summaries_file(), judge_digest(MAKERS))
    known = kept.read(runs)
    found, new = list[RunSummary | UnreadableRun](), list[tuple[Path, RunSummary]]()
    for folder in (file.parent for file in sorted(runs.glob(f"*/{FILE}"))):
        stamp, body = kept.stamp(folder), known.get(str(folder.absolute()), ("", ""))
        summary = (_known(folder, body[1]) if body[0] == stamp else None) or _summed(folder)
        if body[0] != stamp and isinstance(summary, RunSummary):
            new.append((folder, summary))
        found.append(summary)
    _keep(kept, new)
    return found


def keep_summary(found: RunSummary) -> None:
    """Keep the summary of a run whose journal was closed just now: a list need not read it at all."""
    _keep(Summaries(summaries_file(), judge_digest(MAKERS)), [(Path(found.folder), found)])


def _keep(kept: Summaries, found: list[tuple[Path, RunSummary]]) -> None:
    """Of those that are finished and proved."""
    done = [(folder, each) for folder, each in found if each.complete and not each.unproved]
    if done:
        kept.keep({folder: (kept.stamp(folder), each.model_dump_json()) for folder, each in done})


def list_turns() -> list[str]:
    """A line for each device of this machine that a worker of this user's has, with those that wait for it."""
    lines = []
    for device, (first, *others) in ((device, queue) for device, queue in queues() if queue):
        behind = ", ".join(f"{each.pid} ({each.how})" for each in others)
        lines.append(f"turns on {device}: worker {first.pid} ({first.how}){f'; behind it: {behind}' if behind else ''}")
    return lines


def _known(folder: Path, body: str) -> RunSummary | None:
    try:
        found = RunSummary.model_validate_json(body)
    except ValidationError:
        return None
    return found if found.folder == str(folder) else found.model_copy(update={"folder": str(folder)})


def _summed(folder: Path) -> RunSummary | UnreadableRun:
    try:
        with closing(RunStore.open(folder)) as store:
            return summarize(store)
    except StoreError as error:
        return UnreadableRun(folder=str(folder), error=str(error))
