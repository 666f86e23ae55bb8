"""The class `ModelNew` that every exported file ends with.

It inherits from the reference: parameters are made alike and in the same order, and whatever the kernel is
not for goes to the reference's own `forward`. The file around it defines `_fits` and `_run`.
"""

from kernelwright.export.reference import Reference, arguments, baked, tensors
from kernelwright.records.task import Task

TEMPLATE = '''\
class ModelNew(Model):
    """A drop-in for Model: its kernel where it fits, the reference elsewhere."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._as_written = not kwargs and {as_written}

    def forward(self, {names}):
        tensors = {tensors}
        if {conditions}:
            return _run(*tensors)
        return super().forward({names})
'''


def drop_in(task: Task, found: Reference) -> str:
    """The class for one task."""
    names = arguments(task, found)
    conditions = ["self._as_written", *baked(task, names), "_fits(*tensors)"]
    # A task may leave the function out: its Model takes no arguments then.
    given = "get_init_inputs" in found.names
    return TEMPLATE.format(
        names=", ".join(names),
        as_written="list(args) == list(get_init_inputs())" if given else "not args",
        tensors=as_tuple(tensors(task, names)),
        conditions=" and ".join(conditions),
    )


def as_tuple(items: list[str]) -> str:
    """A tuple of these expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
