"""The data card: what is in a data set, where it comes from, and what it must not be used for. Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kernelwright.train.data.sample import INTERPRETED, Sample
from kernelwright.train.structure import HELD_OUT

TEMPLATE = """\
# Data card: {name}

{count} pairs of a PyTorch module and a kernel that computes the same. {passed} Times, where there are any, are of the device
named below and of no other.

| | |
|---|---|
| samples | {count} |
| structures | {structures} |
| families | {families} |
| tasks | {tasks} |
| sample with a measured parent | {parents} |
| of these, with a judge's diagnosis of it | {advised} |
| migrated | {migrated} |

{tables}
## How it was split

By family: the set of a module's operations, in whatever order, number and wiring. One family in {held_out} is held out, so no
held-out combination was seen in training, not even rearranged. At most a few samples share a structure, which is the
operations and their wiring without shapes, numbers and names.

## What it is for

Supervised fine-tuning and reinforcement learning of models that write kernels. Random modules are chains of pointwise
operations, row operations and reductions; a model that does well on them has shown nothing about convolutions or matrix
products. Pairs of a file that somebody brought have the licence of that file.
"""


PASSED = "Every pair passed the referee: compiled, and right in every kind of input against fp64."
UNADMITTED = (
    "Those with the outcome `interpreted` were checked in bulk, on two draws in Triton's interpreter, and have not passed the "
    "referee; every other pair has: compiled, and right in every kind of input against fp64."
)


def card(name: str, samples: Sequence[Sample], fates: Mapping[str, int]) -> str:
    """The card of a data set; `fates` are of pairs that were not kept, where they were just collected."""
    tables = [
        _table("Origin", (one.origin for one in samples)),
        _table("Split", (one.split for one in samples)),
        _table("Language", (one.candidate.language for one in samples)),
        _table("Operations of the module", (f"{one.depth:2d}" for one in samples)),
        _table("Outcome", (one.judged.outcome for one in samples)),
        _table("Device", (one.judged.device or one.judged.how or "unknown" for one in samples)),
        _table("torch", (dict(one.judged.versions).get("torch", "unknown") for one in samples)),
        _table("Rewrites", (name for one in samples for name in one.migrated)),
        _counted("Not kept", fates),
    ]
    return TEMPLATE.format(
        name=name,
        count=len(samples),
        passed=UNADMITTED if any(one.judged.outcome == INTERPRETED for one in samples) else PASSED,
        structures=len({one.structure for one in samples}),
        families=len({one.family for one in samples}),
        tasks=len({one.task.id for one in samples}),
        parents=sum(one.parent is not None for one in samples),
        advised=sum(bool(one.advice) for one in samples),
        migrated=sum(bool(one.migrated) for one in samples),
        tables="\n".join(filter(None, tables)),
        held_out=HELD_OUT,
    )


def _table(title: str, values: Iterable[str]) -> str:
    return _counted(title, Counter(values))


def _counted(title: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    rows = "\n".join(f"| {name.strip()} | {count} |" for name, count in sorted(counts.items()))
    return f"## {title}\n\n| | samples |\n|---|--:|\n{rows}\n"
