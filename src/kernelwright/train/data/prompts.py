"""From samples to rows of supervised fine-tuning: the prompt that the product would send, and the reply to learn."""

from collections.abc import Iterable, Iterator
from typing import Literal

from kernelwright.languages import language
from kernelwright.records.chat import ChatMessage
from kernelwright.records.task import Task
from kernelwright.train.data.forms import restyled
from kernelwright.train.data.sample import Sample
from kernelwright.train.environment import Assignment, Environment, Judge, Settings

Row = tuple[tuple[ChatMessage, ...], str]


class Nobody:
    """Nothing is judged where only prompts are rendered."""

    async def judge(self, *_: object) -> None:
        """Never asked."""
        raise AssertionError


def fenced(source: str, fence: str) -> str:
    """A reply with one fenced block, as the contract asks for."""
    return f"```{fence}\n{source.rstrip()}\n```"


def opening(task: Task, role: str) -> tuple[ChatMessage, ...]:
    """The first prompt of a role about a task."""
    return Environment((), Nobody(), Settings(role=role)).opening(Assignment(task=task))


def rows(
    samples: Iterable[Sample], role: Literal["frontend", "midend", "coder"], variant: str = "standard", forms: int = 1
) -> Iterator[Row]:
    """A prompt and its reply for each sample that has what the role starts from: the mid-end needs a parent.

    With several forms, samples take them in turn: one as it was written, others with their modules in other forms.
    """
    nobody: Judge = Nobody()
    environment = Environment((), nobody, Settings(role=role, variant=variant))
    for number, one in enumerate(samples):
        if role == "midend" and one.parent is None:
            continue
        parent = one.parent if role == "midend" else None
        task = in_form(one.task, number % forms)
        prompt = environment.opening(Assignment(task=task, parent=parent, split=one.split))
        yield prompt, fenced(one.candidate.source, language(one.candidate.language).fence)


def in_form(task: Task, form: int) -> Task:
    """A task with its module's text in another form; the first is as it was written."""
    if not form:
        return task
    source = task.source.model_copy(update={"source": restyled(task.source.source, form)})
    return task.model_copy(update={"source": source})
