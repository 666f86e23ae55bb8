"""The Answer to a request, and the faults around a kernel: refusals, prose, empty, cut and wrapped replies.

Decides the form of a reply's text. Refuses to know kernels.
"""

import json
from dataclasses import dataclass, replace

from kernelwright.testing.drill.faults import Wrapped
from kernelwright.testing.drill.shown import LABEL

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
