"""Reasoning and tool calls within the text of a reply, where a server does not separate them itself."""

import json
import re
from typing import NamedTuple

from kernelwright.models.lenient import dict_in, parsed
from kernelwright.records.chat import ToolCall

_CLOSED = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL)
_OPEN = re.compile(r"\A\s*<(?:think|thinking)>.*\Z", re.DOTALL)
_HEADLESS = re.compile(r"\A(?:(?!<think).)*?</think>\s*", re.DOTALL)
"""Some templates open the thought in the prompt, so that the reply has its end alone."""
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


class Spoken(NamedTuple):
    """A text without its thoughts."""

    text: str
    thought: str


def without_thoughts(text: str) -> Spoken:
    """The text after the thoughts at its front; none when the thought was cut off before its end."""
    for pattern in (_CLOSED, _OPEN, _HEADLESS):
        if found := pattern.match(text):
            return Spoken(text[found.end() :], found.group())
    return Spoken(text, "")


def calls_in(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text without the calls written in it as `<tool_call>{…}</tool_call>`, and those calls."""
    calls = []
    for number, found in enumerate(_CALL.finditer(text)):
        call = _call(found.group(1), number)
        if call is None:
            return text, ()
        calls.append(call)
    return (_CALL.sub("", text).strip() if calls else text), tuple(calls)


def _call(text: str, number: int) -> ToolCall | None:
    body = dict_in(parsed(text))
    name = body.get("name")
    if not isinstance(name, str):
        return None
    return ToolCall(id=f"call_{number}", name=name, arguments=as_text(body.get("arguments", {})))


def as_text(arguments: object) -> str:
    """Arguments as the model's own text: some servers send an object where the protocol has a string."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
