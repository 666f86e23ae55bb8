"""What is replied: a text with its kernel, the faults around it, and calls of the functions that a request offers."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from mock_llm.faults import Wrapped
from mock_llm.prompt import Prompt

VERSION = 1
MODEL = f"drill-{VERSION}"
"""The model's name and the replies' fingerprint: whatever has it is a drill, never a model's result."""
LABEL = "A drill: written by the built-in author behind a test server, not by a language model."
"""Stands in every kernel and in every reply that has room for it."""

REFUSAL = "I'm sorry, but I cannot help with that request."
PROSE = (
    "To make this fast, one would read each element once, keep partial sums in registers and let neighbouring threads "
    "touch neighbouring addresses. Larger tiles help until registers run out. Shall I write it?"
)
SKETCH = "int twice(int x) { return 2 * x; }"
WRAPPED: tuple[Wrapped, ...] = ("refusal", "prose", "empty", "truncated", "json", "truncated_json", "blocks")


@dataclass(frozen=True)
class Call:
    """A function that the reply wants called."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Answer:
    """What the server says, before its transport."""

    role: str
    kind: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    """As on the wire: `stop`, `length`, `tool_calls` or `content_filter`."""
    fault: str = ""


def kernel_text(source: str, tag: str, said: str) -> str:
    """A kernel as a model hands it in."""
    return f"{said}\n\n```{tag}\n{source.rstrip()}\n```"


def wrapped(answer: Answer, source: str, tag: str, kind: Wrapped) -> Answer:
    """The answer with a fault around its kernel."""
    found = replace(answer, fault=kind, calls=(), finish="stop")
    match kind:
        case "refusal":
            return replace(found, text=REFUSAL)
        case "prose":
            return replace(found, text=PROSE)
        case "empty":
            return replace(found, text="")
        case "truncated":
            return replace(found, text=_half(kernel_text(source, tag, LABEL)), finish="length")
        case "json":
            return replace(found, text=_json(source))
        case "truncated_json":
            return replace(found, text=_half(_json(source)), finish="length")
        case "blocks":
            sketch = kernel_text(SKETCH, tag, "The idea, on one number:")
            return replace(found, text=f"{sketch}\n\n{kernel_text(source, tag, 'The whole kernel:')}")


def cut_calls(answer: Answer, kind: Wrapped) -> Answer:
    """The same for an answer that calls a function with its kernel."""
    if kind in ("refusal", "prose", "empty"):
        return wrapped(answer, "", "", kind)
    calls = tuple(replace(call, arguments=_half(call.arguments)) for call in answer.calls)
    return replace(answer, calls=calls, finish="length", fault="truncated_json")


def _json(source: str) -> str:
    return json.dumps({"thought": LABEL, "code": source})


def _half(text: str) -> str:
    return text[: len(text) // 2]


OFTEN = 0.5
"""Share of dialogues that begin with a look at the techniques; of kernels that are compiled before they are judged."""
LOOKING = ("compile", "verify")
"""Functions after which the same kernel is handed in, if it passed."""


class Toolbox:
    """Functions by name, with the JSON Schema of their arguments."""

    def __init__(self, schemas: Mapping[str, Mapping[str, JsonValue]]) -> None:
        self._schemas = schemas

    def __bool__(self) -> bool:
        """Whether any function is offered."""
        return bool(self._schemas)

    def before(self, prompt: Prompt, source: str, draw: random.Random) -> Call | None:
        """What is called before the next kernel is handed in; None: nothing."""
        used = [name for turn in prompt.turns for name, _ in turn.calls]
        if not used:
            return self._search() if "search" in self._schemas and draw.random() < OFTEN else None
        passed = used[-1] in LOOKING and bool(source) and not prompt.refuses()
        return self.handing(source, done=False) if passed else None

    def looking(self, source: str, draw: random.Random) -> Call | None:
        """The call that has a new kernel compiled before it is judged; None: it is judged at once."""
        often = "compile" in self._schemas and draw.random() < OFTEN
        return self._call("compile", ("code", "source"), source) if often else None

    def handing(self, source: str, done: bool) -> Call:
        """The call that has a kernel judged, or hands in the last one."""
        wanted = ("submit", "evaluate") if done else ("evaluate", "verify", "submit")
        name = next((n for n in wanted if n in self._schemas), next(iter(self._schemas)))
        return self._call(name, ("code", "source"), source)

    def _search(self) -> Call:
        return self._call("search", ("query", "text"), "fewer passes over memory, more work in flight")

    def _call(self, name: str, keys: tuple[str, ...], value: str) -> Call:
        known = self._schemas[name].get("properties")
        properties = list(known) if isinstance(known, dict) else []
        key = next((k for k in keys if k in properties), properties[0] if properties else keys[0])
        return Call(name, json.dumps({key: value}))
