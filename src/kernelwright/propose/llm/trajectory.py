"""The reasoning pass: a model makes a task's code faster step by step, and then says what each step is called in the graph.

Both passes are ReGraphT's (arXiv 2510.19873, section 3.1): steps {think, method, detail, code}, and labels {existed, method}
of the same number. What cannot be read is the caller's to drop; nothing is repaired, because half a trajectory is none.
"""

import json
from collections.abc import Awaitable, Callable, Sequence

from kernelwright.languages import language
from kernelwright.propose.llm.render import Prompts
from kernelwright.propose.llm.reply import cleaned
from kernelwright.propose.llm.sections import describe_task
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest
from kernelwright.records.names import LanguageName
from kernelwright.records.task import Task

TEMPERATURE, TOKENS = 0.7, 32_768
"""ReGraphT's temperature; room for a dozen whole kernels."""
Ask = Callable[[ChatRequest], Awaitable[ChatReply]]


async def reason(ask: Ask, task: Task, written: LanguageName) -> str:
    """The steps as JSON: a list, as the model wrote it.

    Raises:
        ModelError: no answer could be had.
    """
    shown = {"task": describe_task(task), "reference": task.source.origin, "title": language(written).title}
    return await _list(ask, "graph-reason", {**shown, "language": written})


async def relabel(ask: Ask, methods: Sequence[str], known: Sequence[str]) -> str:
    """The labels as JSON: a list, as the model wrote it.

    Raises:
        ModelError: no answer could be had.
    """
    return await _list(ask, "graph-relabel", {"methods": list(methods), "known": list(known)})


async def _list(ask: Ask, name: str, shown: dict[str, object]) -> str:
    rendered = Prompts().render(name, shown)
    messages = (ChatMessage(role="system", text=rendered.system), ChatMessage(role="user", text=rendered.user))
    reply = await ask(ChatRequest(messages=messages, temperature=TEMPERATURE, max_tokens=TOKENS))
    return outermost(cleaned(reply.text))


def outermost(text: str) -> str:
    """The first whole JSON list of objects in a text; the text itself where there is none."""
    decoder, at = json.JSONDecoder(), text.find("[")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at = text.find("[", at + 1)
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return text[at:end]
        at = text.find("[", end)
    return text
