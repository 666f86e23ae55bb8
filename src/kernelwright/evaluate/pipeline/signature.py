"""Whether a function takes as many pointers as its task hands over: seen in its text, before anything is built.

A call with too few or too many of them writes to an input or to nowhere, and what comes of that names another fault.
"""

from kernelwright.languages import language
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Refused
from kernelwright.records.task import Workload

MOST_NAMES = 12


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
