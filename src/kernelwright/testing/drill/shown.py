"""What the drill shows of itself: its name on every reply, and a line for each call that it served.

Decides the label. Refuses to know prompts, kernels and faults.
"""

from collections import Counter
from collections.abc import Iterable

from kernelwright.records.base import Record

VERSION = 1
MODEL = f"drill-{VERSION}"
"""The model's name and the replies' fingerprint: whatever has it is a drill, never a model's result."""
LABEL = "A drill: written by the built-in author behind a test server, not by a language model."
"""Stands in every kernel and in every reply that has room for it."""


class Served(Record):
    """One call, as the server saw it."""

    number: int
    """Position among all calls, from 0, in the order of arrival."""
    request: str
    """Hash of what was asked: the same question is the same request."""
    role: str
    """`coder`, `judge-repair`, `judge-improve`, `reflector` or `agent`, as the prompt reads."""
    kind: str
    """What was done: `seed`, `mended`, `unmended`, `improved`, `sideways`, `best`, `advice`, … or the transport's fault."""
    fault: str = ""
    """The fault of the reply's content, if it has one."""
    status: int = 200
    """Of HTTP; 0: no answer was completed."""
    prompt_tokens: int = 0
    """As told to the client; 0 where nothing was told."""
    completion_tokens: int = 0


def tally(calls: Iterable[Served]) -> Counter[str]:
    """How many calls there were of each kind."""
    return Counter(call.kind for call in calls)
