"""Which form a path has. To add one: a function that reads it and a row here.

What a row recognises is looked at in this order; the first that does reads all of it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.pages import page
from kernelwright.records.published import PublishedKernel
from kernelwright.tasks.published import flashinfer, forms

Read = Callable[[Path, Path | None], list[PublishedKernel]]
"""Takes what was named, and the folder of tasks that it refers to, if one was named."""


class Form(NamedTuple):
    """One form of publishing."""

    what: str
    recognises: Callable[[Path], bool]
    read: Read


FORMS = (
    Form("a JSON or JSONL file of kernels", forms.is_entry_file, forms.read_entries),
    Form("FlashInfer-Bench's definitions and solutions", flashinfer.is_data_set, flashinfer.read_solutions),
    Form("the kernels of a KernelBench run", forms.is_run, forms.read_run),
    Form("a directory of tasks and kernels of equal names", Path.is_dir, forms.read_pairs),
)


def read_published(path: Path, tasks: Path | None = None) -> list[PublishedKernel]:
    """Every kernel that was published at a path, under names of their own, in the order of their publication.

    Raises:
        UsageError: there is nothing of a known form, or what it refers to is not there.
        TaskError: a file cannot be read.
    """
    if not path.exists():
        raise UsageError(f"{str(path)!r} does not exist: name a file or a directory of published kernels")
    for form in FORMS:
        if form.recognises(path):
            found = form.read(path, tasks)
            if found:
                return _with_distinct_names(found)
    known = "; ".join(form.what for form in FORMS)
    raise UsageError(f"{str(path)!r} holds no published kernels in a known form ({known}): see {page('audit.md')}")


def _with_distinct_names(found: Sequence[PublishedKernel]) -> list[PublishedKernel]:
    seen: dict[str, int] = {}
    named = []
    for one in found:
        count = seen[one.name] = seen.get(one.name, 0) + 1
        named.append(one if count == 1 else one.model_copy(update={"name": f"{one.name} ({count})"}))
    return named
