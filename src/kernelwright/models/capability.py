"""What a model's endpoint accepts, found out by asking.

An endpoint's complaint says which parameter to leave out, rename or lower; this is remembered for all later requests of
that model. There is no list of models: such lists are out of date before they are printed.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from kernelwright.models.fault import Complaint, Fault

SYSTEM = "system"
"""Stands for a system message among the parameters of a request."""
LENGTH = "max_tokens"
LENGTH_NEW = "max_completion_tokens"
CACHE = "cache_control"
"""Stands among the parameters for the marks of prompt caching, which are blocks' fields and no parameter."""
SHAPES = ("response_format", "output_config")
"""That an answer must fit a JSON Schema, in OpenAI's protocol and in Anthropic's."""
STREAM = ("stream_options", "stream")
"""That the usage shall come at a stream's end, and that a reply shall come in pieces."""
NESTED = ("reasoning", "text")
"""Objects of the Responses API. A complaint is about one only where it names it: they are words of everyday too."""
DROPPABLE = (
    "temperature",
    "seed",
    "tools",
    "reasoning_effort",
    "thinking",
    CACHE,
    *SHAPES,
    LENGTH_NEW,
    LENGTH,
    *STREAM,
)
_UNWANTED = re.compile(
    r"support|unavailable|unrecogni[sz]ed|unknown|unexpected|not (?:permitted|allowed|accept|available|enabled)|forbidden|"
    r"extra|deprecated|invalid|does not|doesn't|cannot|removed|must be|requires",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(r"system['\"`]?\s*(?:role|message|prompt|instruction)|['\"`]system['\"`]", re.IGNORECASE)
_CAPS = (
    re.compile(r"at most (\d+)(?: completion| output)? tokens", re.IGNORECASE),
    re.compile(r"max(?:_completion)?_tokens\D{1,6}\d+ > (\d+)", re.IGNORECASE),
    re.compile(r"valid range of max_tokens is \[\d+, ?(\d+)\]", re.IGNORECASE),
)
_NUMBER = r"[`'\"]?(\d[\d,]*)"
_BOUNDS = tuple(
    re.compile(words + _NUMBER, re.IGNORECASE)
    for words in (
        r"(?:less|smaller|lower) than or equal to ",
        r"(?:<=|≤) ?",
        r"(?:exceed|at most|up to|between \d+ and) ",
        r"(?:not be|n't be|no|is) (?:greater|larger|more|higher) than ",
        r"\[\d+, ?",
        r"maximum[^.\d]{0,40}",
    )
)
"""Matches complaints about any parameter."""
_BELOW = re.compile(rf"(?:less|smaller|lower) than {_NUMBER}", re.IGNORECASE)
_WINDOW = re.compile(r"(?:maximum )?context (?:length|window)\D{1,12}(\d+)", re.IGNORECASE)
_ASKED = (
    re.compile(r"(\d+) input tokens", re.IGNORECASE),
    re.compile(r"(\d+) (?:tokens )?(?:in|from) the (?:messages|input|prompt)", re.IGNORECASE),
)


class Lesson(NamedTuple):
    """Ask again, now that it is known."""

    max_tokens: int | None = None
    """For this request alone: what its prompt leaves of the model's window."""


class Capabilities:
    """What one model's endpoint has refused so far."""

    def __init__(self, fixed: Collection[str] = ()) -> None:
        self._fixed = frozenset(fixed)
        """Parameters that its protocol, or whoever asks, cannot do without."""
        self.dropped: set[str] = set()
        self.renamed = False
        """The length goes by its newer name."""
        self.folded = False
        """The system message goes into the first user message."""
        self.cap: int | None = None
        """Most tokens of a reply that the endpoint takes."""

    def length(self, asked: int) -> dict[str, int]:
        """The parameter that limits the reply, by the name that is taken, if any is."""
        if LENGTH in self.dropped:
            return {}
        return {LENGTH_NEW if self.renamed else LENGTH: asked if self.cap is None else min(asked, self.cap)}

    def learn(self, fault: Fault, sent: Collection[str], max_tokens: int) -> Lesson | None:
        """What to do differently; None when the complaint teaches nothing. `sent` are the names of the parameters."""
        if fault.kind != "status" or fault.status not in {400, 422, 500}:
            return None
        words = fault.complaint.words
        if SYSTEM in sent and _NO_SYSTEM.search(words) and _UNWANTED.search(words):
            self.folded = True
            return Lesson()
        if fault.status == 500:
            return None
        about = _about(fault.complaint, sent)
        lower = self._lower(words, max_tokens, about in {LENGTH, LENGTH_NEW})
        return lower or self._leave_out(about if _refuses(fault.complaint, about) else None)

    def cannot_leave_out(self, fault: Fault, sent: Collection[str]) -> bool:
        """Whether it refuses a parameter that its protocol, or whoever asks, cannot do without."""
        return _about(fault.complaint, sent) in self._fixed

    def _lower(self, words: str, max_tokens: int, about_length: bool) -> Lesson | None:
        window, asked = _WINDOW.search(words), _first(_ASKED, words)
        if window and asked:
            room = int(window.group(1)) - asked
            return Lesson(room) if 0 < room < max_tokens else None
        cap = _first(_CAPS, words)
        if cap is None and about_length and not window:
            cap = _bound(words)
        if cap is None or not 0 < cap < max_tokens:
            return None
        self.cap = cap
        return Lesson()

    def _leave_out(self, name: str | None) -> Lesson | None:
        if name is None or name in self._fixed:
            return None
        if name == LENGTH:
            self.renamed = True
        else:
            self.dropped.add(LENGTH if name == LENGTH_NEW else name)
        return Lesson()


def _first(patterns: Collection[re.Pattern[str]], words: str) -> int | None:
    found = next((match for pattern in patterns if (match := pattern.search(words))), None)
    return int(found.group(1).replace(",", "")) if found else None


def _bound(words: str) -> int | None:
    below = _first((_BELOW,), words)
    return _first(_BOUNDS, words) or (below - 1 if below is not None else None)


def _about(complaint: Complaint, sent: Collection[str]) -> str | None:
    """The parameter that the complaint is about, if it is one that can be left out."""
    words, named, _ = complaint
    candidates = [name for name in DROPPABLE if name in sent]
    if named and named.endswith(CACHE) and CACHE in candidates:
        return CACHE
    if (head := named.partition(".")[0]) in NESTED:
        return head if head in sent else None
    if named and "." not in named and "[" not in named:
        return named if named in candidates else None
    places = {name: _place(name, words) for name in candidates}
    if "tools" in candidates and places["tools"] is None:
        places["tools"] = _place("tool", words)  # "does not support tool calling"
    found = {name: place for name, place in places.items() if place is not None}
    return min(found, key=lambda name: found[name]) if found else None


def _refuses(complaint: Complaint, name: str | None) -> bool:
    """Whether it is the parameter itself that is not wanted."""
    unwanted = "unsupported" in complaint.code or _UNWANTED.search(complaint.words) is not None
    return unwanted or (complaint.parameter == name and name != "tools")


def _place(name: str, words: str) -> int | None:
    found = re.search(rf"(?<![a-z_]){name}(?![a-z_])", words, re.IGNORECASE)
    return found.start() if found else None
