"""Which fault a reply has: in its content by chance, in its transport by chance or by a script.

`breakage`, `answer` and `transport` make the faults.
"""

import random
from typing import Literal, get_args

from pydantic import Field

from kernelwright.records.base import Record, identity

Broken = Literal["undeclared", "punctuation", "off_by_one", "dropped_term", "wrong_constant"]
"""Faults within the kernel: the first two do not compile, the others compute something else."""
Wrapped = Literal["refusal", "prose", "empty", "truncated", "json", "truncated_json", "blocks"]
"""Faults around the kernel. `json` and `blocks` hold the whole kernel, in an unwelcome form."""
Content = Literal[Broken, Wrapped, "slow"]
"""What can be wrong with a reply. `slow`: one handicap more than it should have."""
Transport = Literal[
    "429", "429_silent", "500", "503", "400", "404", "stall", "reset", "reset_body", "truncated_body", "html",
    "wrong_type", "no_usage", "null_content", "cut_stream", "garbage_event", "stalled_stream", "drip",
]  # fmt: skip
"""What can be wrong with a call. `429` says when to come again, `429_silent` does not. The last four are of streams."""
STREAMED: tuple[Transport, ...] = ("cut_stream", "garbage_event", "stalled_stream", "drip")
"""Met only by a client that asked for a stream. `drip`: all of it comes, slowly."""

SYNTAX: tuple[Broken, ...] = ("undeclared", "punctuation")
BROKEN: tuple[Broken, ...] = get_args(Broken)
CONTENT: tuple[Content, ...] = (*BROKEN, *get_args(Wrapped), "slow")
TRANSPORT: tuple[Transport, ...] = get_args(Transport)
PASSING: tuple[Transport, ...] = tuple(t for t in TRANSPORT if t not in ("400", "404"))
"""Faults that the same request may not meet again."""


class At(Record):
    """A scripted fault: at which call, counted from 0 among all calls, or among those of one role."""

    call: int = Field(ge=0)
    fault: Transport
    role: str = ""
    """As in `Served.role`; empty: any."""


class Faults(Record):
    """How often the server errs, and how."""

    rate: float = Field(default=0.4, ge=0, le=1)
    """Share of kernels asked for by a seed or an improvement that have a fault of content."""
    kinds: tuple[Content, ...] = CONTENT
    """Drawn from evenly; repeat one to make it more likely."""
    advice_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of judges' and reflectors' replies that are refused, empty, cut or prose."""
    transport_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of requests whose first call meets a fault of transport; a second call of the same request gets through."""
    transport_kinds: tuple[Transport, ...] = PASSING
    script: tuple[At, ...] = ()
    """Faults at given calls; they win over the rate."""
    refused: tuple[str, ...] = ()
    """Parameters of a request that are answered with status 400, such as `temperature` and `seed`."""
    stall_s: float = Field(default=30.0, ge=0)
    """Seconds that a stalled call says nothing; it ends sooner when the server closes."""
    retry_after_s: float = Field(default=0.01, ge=0)
    """Seconds that a `429` asks for."""

    def scripted(self, call: int, role: str, of_role: int) -> Transport | None:
        """The fault that the script has for a call: its number among all, and among those of its role."""
        return next(
            (a.fault for a in self.script if (a.role == role and a.call == of_role) or (not a.role and a.call == call)),
            None,
        )

    def passing(self, seed: int, chance: str, before: int) -> Transport | None:
        """The fault of transport that a request draws; none when it was sent before."""
        draw = drawn(seed, "transport", chance)
        if before or not self.transport_kinds or draw.random() >= self.transport_rate:
            return None
        return draw.choice(self.transport_kinds)


def drawn(seed: int, *about: str) -> random.Random:
    """Chance that is fixed by a seed and by what it is about."""
    return random.Random(int(identity("drill", {"seed": seed, "about": list(about)}), 16))


class Chance:
    """The draws of one answer: each purpose has its own, so that how much one draws moves no other."""

    def __init__(self, seed: int, about: str) -> None:
        self._seed, self._about = seed, about

    def of(self, purpose: str) -> random.Random:
        """The draws for one purpose, always from the beginning."""
        return drawn(self._seed, purpose, self._about)
