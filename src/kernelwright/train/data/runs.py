"""Samples from past runs: right kernels, the measured kernels that they were made from, and what a judge had said of these.

Whoever ran the search has judged them already; nothing is judged again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from kernelwright.records.attempt import Attempt
from kernelwright.records.evaluation import is_right
from kernelwright.records.run import Message
from kernelwright.store.database import FILE as RUN
from kernelwright.store.files import open_lines
from kernelwright.store.run import RunStore
from kernelwright.train.data.sample import FILE, Sample, judged, sample

JUDGE = "judge"
"""The role whose diagnoses are kept."""
DEEPEST = 3
"""Folders below the one that was named, as a bench has them."""


def runs(folder: Path) -> list[Path]:
    """The runs in a folder: itself, or those below it, in the order of their names; empty where there are none."""
    if (folder / RUN).exists():
        return [folder]
    below = ("*/" * depth + RUN for depth in range(1, DEEPEST + 1))
    return sorted(file.parent for pattern in below for file in folder.glob(pattern)) if folder.is_dir() else []


def take_runs(folders: Iterable[Path], into: Path) -> None:
    """Add every right kernel of these runs to a data set that does not have it yet.

    Raises:
        StoreError: a run cannot be read, or the data set cannot be written.
    """
    into.mkdir(parents=True, exist_ok=True)
    with open_lines(Sample, into / FILE) as lines:
        known = {one.id for one in lines.read()}
        for folder in folders:
            for made in _samples(folder):
                if made.id not in known:
                    known.add(made.id)
                    lines.append(made)


def _samples(folder: Path) -> Iterator[Sample]:
    with closing(RunStore.open(folder)) as store:
        run, attempts, messages = store.card, store.attempts(), store.messages()
    by_number = {attempt.number: attempt for attempt in attempts}
    advice = _advice(messages)
    for attempt in attempts:
        found = attempt.evaluation
        if is_right(found) and attempt.known is None:
            short, parent = judged(found, run.environment.versions), _parent(attempt, by_number)
            made = sample("run", run.task, attempt.proposal.candidate, short, parent)
            said = advice.get((attempt.proposal_request.number, _sibling(attempt)), "") if parent else ""
            yield made.model_copy(update={"plan": attempt.proposal.note, "advice": said})


def _advice(messages: Iterable[Message]) -> dict[tuple[int, int], str]:
    """What the judge said, by proposal request and place among its candidates."""
    told = (one for one in messages if one.kind == "diagnosis" and one.role == JUDGE)
    return {(one.proposal_request, one.sibling): one.text for one in told}


def _sibling(attempt: Attempt) -> int:
    """The place of a candidate among its request's, which a language model's proposal has in its memo."""
    try:
        memo = json.loads(attempt.proposal.memo or "{}")
    except ValueError:
        return 0
    place = memo.get("sibling", 0) if isinstance(memo, dict) else 0
    return place if isinstance(place, int) else 0


def _parent(attempt: Attempt, by_number: Mapping[int, Attempt]) -> Attempt | None:
    parents = attempt.proposal_request.parents
    found = by_number.get(parents[0]) if parents else None
    return found if found is not None and is_right(found.evaluation) else None
