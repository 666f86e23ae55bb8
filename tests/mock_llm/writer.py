"""Writes kernels with the built-in author: by the best schedule that is given, otherwise its default, and with handicaps."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from pydantic import JsonValue, TypeAdapter, ValidationError

from kernelwright.devices import kinds
from kernelwright.errors import UsageError
from kernelwright.languages import languages_for
from kernelwright.propose.author.families.rows.cpp import write_cpp
from kernelwright.propose.author.families.rows.plan import lower
from kernelwright.propose.author.families.rows.schedule import CppSchedule, TritonSchedule, cpp_default, triton_default
from kernelwright.propose.author.families.rows.triton import write_triton
from kernelwright.propose.author.search.learn import read_memo
from kernelwright.records.task import Task
from mock_llm.answer import LABEL
from mock_llm.cuda import CudaWriter
from mock_llm.handicaps import (
    Handicap,
    handicaps,
    settled_cpp,
    settled_triton,
    slowed_cpp,
    slowed_triton,
    standing_alone,
)

FIELDS: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class TaskWriter:
    """Kernels for one task."""

    def __init__(self, task: Task, best: str = "") -> None:
        """Takes the admitted task, and its best schedule as JSON: the schedule's fields, or a memo of the author's.

        Raises:
            ProposeError: the author does not write this task.
            UsageError: the schedule cannot be read.
        """
        self.task = task
        self.plan = lower(task)
        self._fields = _fields(best, task.name)
        self.kernel(())

    @property
    def tag(self) -> str:
        """How the language's fence is tagged."""
        return languages_for(self.task.target.kind)[0].fence

    @cached_property
    def handicaps(self) -> tuple[Handicap, ...]:
        """Those that kernels of this task can have."""
        return handicaps(self.task)

    @cached_property
    def reference(self) -> str:
        """The reference's words, by which a prompt is recognised."""
        return words(self.task.source.source)

    def kernel(self, names: Collection[str]) -> str:
        """The best kernel with the named handicaps."""
        chosen = [h.name for h in self.handicaps if h.name in names]
        if not kinds()[self.task.target.kind].gpu:
            settled = settled_cpp(self._cpp(), chosen)
            source = standing_alone(write_cpp(self.plan, settled))
            return f"// {LABEL}\n{slowed_cpp(source, chosen)}"
        schedule = settled_triton(self._triton(), chosen)
        candidate = write_triton(self.task, self.plan, schedule)
        tunables = "".join(f"# tunable {t.name}: {' '.join(map(str, t.values))}\n" for t in candidate.tunables)
        return f"# {LABEL}\n{tunables}{slowed_triton(candidate.source, chosen)}"

    def _cpp(self) -> CppSchedule:
        return CppSchedule.model_validate(cpp_default(self.plan).model_dump() | self._fields)

    def _triton(self) -> TritonSchedule:
        return TritonSchedule.model_validate(triton_default(self.plan).model_dump() | self._fields)


Writer = TaskWriter | CudaWriter


def writers(tasks: Sequence[Task], best: Mapping[str, str], cuda: Mapping[str, str]) -> tuple[Writer, ...]:
    """One for each task, `best` by the task's id or its name; and one for each in CUDA C++ of which there is such a kernel."""
    by_author = tuple(TaskWriter(task, best.get(task.id, best.get(task.name, ""))) for task in tasks)
    return (*by_author, *(CudaWriter(task, cuda[task.name]) for task in tasks if task.name in cuda))


def words(text: str) -> str:
    """A text with one blank wherever it has any white space."""
    return " ".join(text.split())


def _fields(best: str, name: str) -> dict[str, JsonValue]:
    if not best:
        return {}
    memo = read_memo(best)
    if memo is not None:
        return memo.schedule
    try:
        return FIELDS.validate_json(best)
    except ValidationError:
        raise UsageError(
            f"the best schedule of {name!r} must be a JSON object: a schedule, or the author's memo"
        ) from None
