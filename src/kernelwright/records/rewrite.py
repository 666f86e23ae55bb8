"""A change of one text, carried over to another: a three-way merge by lines.

An example of a technique shows a kernel before and after. On the very kernel that it shows, the change is known; on a
kernel that differs elsewhere, the changed lines are found again between the same neighbours, or the change does not fit.
The merge is `diff3`'s (Khanna, Kunal, Pierce: A Formal Investigation of Diff3, 2007), except that a conflict is no answer.
"""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache

from kernelwright.records.attempt import WorkedStep


def rewritten(step: WorkedStep, source: str, sizes: Mapping[str, int]) -> str | None:
    """What a worked step makes of a source, at these sizes; None where its change does not fit."""
    made = carried_over(step.before, step.after, at_sizes(source, step.sizes))
    return at_sizes(made, sizes) if made is not None else None


@lru_cache(maxsize=20_000)
def carried_over(before: str, after: str, source: str) -> str | None:
    """`source` with the change from `before` to `after`; None where it conflicts with, or has, what differs already."""
    if source == before:
        return after
    old, new, mine = before.splitlines(), after.splitlines(), source.splitlines()
    changes = _changes(old, new)
    if not {line for low, high, _, _ in changes for line in old[low:high]} <= set(mine):
        return None
    place = {i + k: j + k for i, j, size in _matcher(old, mine).get_matching_blocks() for k in range(size)}
    place |= {-1: -1, len(old): len(mine)}
    for low, high, first, last in reversed(changes):
        where = [place.get(i) for i in range(low - 1, high + 1)]
        start = where[0]
        if start is None or where != list(range(start, start + len(where))):
            return None
        mine[start + 1 : start + 1 + high - low] = new[first:last]
    merged = "\n".join(mine) + "\n"
    return merged if merged != source else None


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    return [(i, j, k, m) for tag, i, j, k, m in _matcher(old, new).get_opcodes() if tag != "equal"]


def _matcher(some: list[str], others: list[str]) -> "SequenceMatcher[str]":
    return SequenceMatcher(None, some, others, autojunk=False)


def at_sizes(source: str, sizes: Mapping[str, int]) -> str:
    """The source with its lines `constexpr long NAME = …;` at these values: sizes that C++ has as constants."""
    for name, value in sizes.items():
        source = re.sub(rf"(?m)^(\s*constexpr long {re.escape(name)} = )\d+;", rf"\g<1>{value};", source)
    return source
