"""Follows worked steps, and chooses among several: what the server does of serial tasks, which the author does not write.

A prompt of a walk over the graph of techniques holds an example, before and after. What it shows after the step is the answer:
a rewriting shows just what becomes of the code at hand, and an example of another code makes a hasty model's kernel.
"""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from kernelwright.records.task import Task
from kernelwright.records.technique import at_sizes
from mock_llm.prompt import Prompt, blocks

MENU, STEP = "steps that lead on", "technique"
TAG = re.compile(r"^`{3}(\w+)$", re.MULTILINE)
CHOICE = re.compile(r"^- `([^`]+)`:", re.MULTILINE)


class Followed(NamedTuple):
    """A kernel that an example led to."""

    task: str
    """The task's name."""
    source: str
    tag: str
    """How the language's fence is tagged."""


class Follower:
    """Kernels for serial tasks."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = [task for task in tasks if task.source.serial]

    def kernel(self, prompt: Prompt) -> Followed | None:
        """The worked step on the code at hand; None where no step is shown, or of no task of ours."""
        task, shown = self._task(prompt), _shown(prompt)
        if task is None or shown is None:
            return None
        after, tag = shown
        return Followed(task.name, at_sizes(after, task.source.sizes), tag)

    def _task(self, prompt: Prompt) -> Task | None:
        return next((task for task in self._tasks if _words(task.source.serial) in _words(prompt.text)), None)


def chosen(prompt: Prompt, luck: random.Random) -> str:
    """Any of the steps that lead on, as a navigator answers."""
    listed = "\n".join(s.body for s in prompt.sections if s.title == MENU)
    return f'{{"technique": "{luck.choice(CHOICE.findall(listed))}"}}'


def _shown(prompt: Prompt) -> tuple[str, str] | None:
    """The worked step's code after it, and how its fences are tagged."""
    texts = [text for s in prompt.sections if s.title == STEP for text in blocks(s.body)]
    codes = [f"{code.strip()}\n" for text in texts for code in blocks(text)]
    return (codes[0], TAG.findall("\n".join(texts))[0]) if len(codes) == 2 else None


def _words(text: str) -> str:
    return " ".join(text.split())
