"""Kernels that a model writes for known tasks: what is right of them is the data of rejection-sampling fine-tuning.

The model is one like any other, a trained checkpoint or a server, and is asked with the product's own prompts.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from kernelwright.errors import ProposeError
from kernelwright.languages import names_for
from kernelwright.models.table import ChatModel
from kernelwright.propose.llm.parse import NoKernel, parse
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatRequest
from kernelwright.records.task import Task, TaskSource
from kernelwright.train.data.collect import Pair
from kernelwright.train.data.prompts import opening

TEMPERATURE = 1.0


def drawn(model: ChatModel, sources: Iterable[TaskSource], each: int, role: str = "frontend") -> Iterator[Pair]:
    """So many pairs for each task, first one of every task, then the second."""
    known = {one.source: one for one in sources}
    for number in range(each):
        for source in known.values():
            yield Pair("model", source, partial(_asked, model, role, number), key=f"{source.source}#{number}")


async def _asked(model: ChatModel, role: str, number: int, task: Task) -> Candidate:
    """The kernel in the model's reply.

    Raises:
        ProposeError: there is none in it.
        ModelError: the model cannot be had.
    """
    request = ChatRequest(messages=opening(task, role), temperature=TEMPERATURE, seed=number)
    found = parse(await model.reply(request), names_for(task.target.kind)[0])
    if isinstance(found, NoKernel):
        raise ProposeError(found.reason)
    return found.candidate
