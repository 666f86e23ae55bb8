"""Reads a request as a model would: which task, which role, which code, and what it says about that code.

Evidence counts only in sections about the code at hand, in its own message or in one after it was handed out.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from kernelwright.records.feedback import Bottleneck
from mock_llm.breakage import Fault

Role = Literal["coder", "judge-repair", "judge-improve", "reflector", "agent", "navigator"]
FENCE = re.compile(r"^(`{3,}|~{3,})")
LOGS, MISMATCHES = ("compiler log", "advice"), ("mismatch", "advice")
NAMING = ("profile", "advice", "instruction")
"""Sections that may name a bottleneck."""
TOOL = "tool"
"""Stands for a section's title where a tool answers that has looked at the code."""
JUDGING = ("compile", "verify", "evaluate", "profile", "submit")
"""Such tools; what others answer (a search for techniques) is no evidence."""
MENU = 4
"""A text that names more classes than this names none: it is a list of what there is."""
NAMES: tuple[tuple[Bottleneck, str], ...] = (
    ("launch", r"launch|overhead"),
    ("occupancy", r"occupancy"),
    ("spills", r"spill"),
    ("uncoalesced", r"coalesc"),
    ("bank_conflicts", r"bank[ _]conflict"),
    ("tail", r"tail"),
    ("latency", r"latency"),
    ("compute", r"compute"),
    ("memory", r"memory|bandwidth"),
)
"""Classes, and the words for them where a bottleneck is stated."""
BOUND = re.compile(
    r"\b(memory|compute|latency|occupancy|launch|overhead)-bound|\b(register spill)|\b(uncoalesced) access"
    r"|\b(bank conflict)s?:|\b(tail) effect:",
    re.IGNORECASE,
)
STATED = re.compile(r'bottleneck\\?"?\s*:\s*\\?"?([^"\n.]{1,200})', re.IGNORECASE)
WRONG = re.compile(
    r"incorrect|mismatch|expected|functional failure|not credible|crashed|differs|unwritten", re.IGNORECASE
)
RIGHT = re.compile(r'\bsuccess\b|"works"\s*:\s*true', re.IGNORECASE)


class Section(NamedTuple):
    """A heading and what stands below it, in one message."""

    message: int
    title: str
    body: str


class Message(NamedTuple):
    """One message of a request."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    """Names and arguments of the functions that an assistant wanted called."""
    answers: str = ""
    """The function whose answer a tool's message is."""


class Prompt:
    """One request's messages."""

    def __init__(self, turns: Sequence[Message], tools: bool = False) -> None:
        self.turns = turns
        self.tools = tools

    @cached_property
    def sections(self) -> list[Section]:
        """Of every message that is not an assistant's, in order."""
        return [s for n, turn in enumerate(self.turns) if turn.role != "assistant" for s in _sections(n, turn)]

    @cached_property
    def text(self) -> str:
        """All that was said to the model."""
        return "\n".join(turn.text for turn in self.turns if turn.role != "assistant")

    @cached_property
    def role(self) -> Role:
        """Whose prompt it is, by what it wants back."""
        if self.tools:
            return "agent"
        if any(s.title == "steps that lead on" for s in self.sections):
            return "navigator"
        wanted = next((s.body for s in reversed(self.sections) if s.title == "reply"), "")
        wanted = wanted or next((t.text for t in reversed(self.turns) if t.role == "system"), "")
        if all(key in wanted for key in ("critical_issue", "why_it_matters", "minimal_fix_hint")):
            return "judge-repair"
        if all(f'"{key}"' in wanted for key in ("bottleneck", "method", "plan")):
            return "judge-improve"
        return "reflector" if re.search(r"\bno code\b", wanted, re.IGNORECASE) and "```" not in wanted else "coder"

    def codes(self) -> Iterator[tuple[int, str]]:
        """Sources that may be the one at hand, the latest first, with the message that each stands in."""
        for number in range(len(self.turns) - 1, -1, -1):
            turn = self.turns[number]
            if turn.role == "assistant":
                for _, arguments in turn.calls:
                    yield from ((number, text) for text in _values(arguments))
                yield from ((number, text) for text in (*blocks(turn.text), *_values(turn.text)))
            for section in (s for s in self.sections if s.message == number and s.title == "candidate"):
                yield from ((number, text) for text in blocks(section.body))

    def about(self, issued: int, titles: Sequence[str]) -> str:
        """What is told under such titles, and by tools, from a message on."""
        return "\n".join(s.body for s in self.sections if s.message >= issued and s.title in (*titles, TOOL))

    def shows(self, fault: Fault, issued: int) -> bool:
        """Whether the prompt holds this fault's own error or evidence."""
        if fault.token:
            return fault.token in self.about(issued, LOGS)
        if fault.line:
            log = self.about(issued, LOGS)
            near = "|".join(str(fault.line + n) for n in range(3))
            named = re.search(rf"(?<![\d.])(?:{near})(?![\d.])", log)
            return bool(named and re.search(r"error", log, re.IGNORECASE))
        told = self.about(issued, MISMATCHES)
        return bool(WRONG.search(told) and re.search(r"\d", told))

    def refuses(self) -> bool:
        """Whether the last tool's answer is that the code does not build or is wrong."""
        last = self.turns[-1].text
        return bool(re.search(r'"ok"\s*:\s*false|"works"\s*:\s*false|\bFailed\b|\bFailure\b', last))

    def proves_right(self, issued: int) -> bool:
        """Whether the code at hand was judged right."""
        if any(s.message >= issued and s.title in ("compiler log", "mismatch") for s in self.sections):
            return False
        profiled = any(s.message >= issued and s.title == "profile" for s in self.sections)
        return profiled or bool(RIGHT.search(self.about(issued, ())))

    def bottlenecks(self, issued: int) -> tuple[Bottleneck, ...]:
        """Classes that are named as what holds the code at hand back, in the order of the text."""
        found: list[Bottleneck] = []
        for section in self.sections:
            if section.message >= issued and section.title in (*NAMING, TOOL):
                found += named(section.body)
        return tuple(dict.fromkeys(found))


def named(text: str) -> tuple[Bottleneck, ...]:
    """Bottlenecks that a text states; none of a text that lists nearly all that there are."""
    words = [m.group(1) for m in STATED.finditer(text)] + [m.group(0) for m in BOUND.finditer(text)]
    found = dict.fromkeys(b for word in words if (b := _class(word)) is not None)
    return tuple(found) if len(found) <= MENU else ()


def _class(words: str) -> Bottleneck | None:
    """The class whose word comes first."""
    places = [(m.start(), name) for name, pattern in NAMES if (m := re.search(pattern, words, re.IGNORECASE))]
    return min(places, key=lambda place: place[0])[1] if places else None


def blocks(text: str) -> list[str]:
    """What stands in fences, the last first."""
    found: list[str] = []
    mark, lines = "", list[str]()
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if not mark and fence:
            mark, lines = fence.group(1), []
        elif mark and line.rstrip() == mark:
            found.append("\n".join(lines))
            mark = ""
        elif mark:
            lines.append(line)
    return found[::-1]


def _sections(number: int, turn: Message) -> Iterator[Section]:
    """The parts below each heading of the second level; headings within fences are none."""
    if turn.role == "tool":
        yield Section(number, TOOL if turn.answers in JUDGING else turn.answers, turn.text)
        return
    title, lines, mark = "", list[str](), ""
    for line in turn.text.split("\n"):
        fence = FENCE.match(line)
        if fence and not mark:
            mark = fence.group(1)
        elif mark and line.rstrip() == mark:
            mark = ""
        if not mark and line.startswith("## "):
            yield Section(number, title, "\n".join(lines))
            title, lines = line[3:].strip().lower(), []
        else:
            lines.append(line)
    yield Section(number, title, "\n".join(lines))


def _values(text: str) -> list[str]:
    """The texts in a JSON object."""
    if not text.lstrip().startswith("{"):
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [value for value in found.values() if isinstance(value, str)] if isinstance(found, dict) else []
