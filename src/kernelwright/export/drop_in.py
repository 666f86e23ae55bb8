"""The class `ModelNew` that every exported file ends with, and the guards before it.

It inherits from the reference: parameters are made alike and in the same order, and whatever the kernel is not for goes
to the reference's own `forward`. A candidate that is judged has the plain class (`drop_in`); what a person gets has the
guarded one (`guarded`), whose runtime is the text of `parts/guard.py.txt`. The file around it defines what they call:
`_run` and `_fits`, or `_run` and `_unlike`.
"""

from collections.abc import Sequence
from pathlib import Path

from kernelwright.export.reference import Reference, arguments, attribute, baked, extras
from kernelwright.records.task import Task
from kernelwright.records.tensor import Scalar

PARTS = Path(__file__).parent / "parts"
PLAIN = '''\
class ModelNew(Model):
    """A drop-in for Model: its kernel where it fits, the reference elsewhere."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._as_written = not kwargs and {as_written}

    def forward(self, {signature}):
        tensors = {tensors}
        if {conditions}:
            return _run(*tensors)
        return super().forward({passed})
'''
GUARDED = '''\
class ModelNew(_Guarded, Model):
    """A drop-in for Model: its kernel where it fits, Model's own answer elsewhere."""

    def forward(self, {signature}):
{baked}        why = _changed(self){unless}
        tensors = () if why else {tensors}
        why = why or _unfit(tensors)
        return _told(why, tensors, super().forward({passed})) if why else _operator(*tensors)
'''
GUARD_IMPORTS = (
    "import inspect", "import logging", "import threading", "import torch",
    "from torch._subclasses.fake_tensor import FakeTensor",
    "from torch._subclasses.functional_tensor import FunctionalTensor",
)  # fmt: skip


def drop_in(task: Task, found: Reference) -> str:
    """The plain class for one task."""
    conditions = ["self._as_written", *_conditions(task, found), "_fits(*tensors)"]
    # A task may leave the function out: its Model takes no arguments then.
    given = "get_init_inputs" in found.names
    return PLAIN.format(
        as_written="list(args) == list(get_init_inputs())" if given else "not args",
        conditions=" and ".join(conditions),
        **_shared(task, found),
    )


def guarded(task: Task, found: Reference) -> str:
    """The class that lets the kernel answer only where it must give what the reference would."""
    conditions = " and ".join(_conditions(task, found))
    words = "arguments that are not the numbers that the kernel was made for"
    baked_in = f"        as_made = {conditions}\n" if conditions else ""
    unless = f' or ("" if as_made else "{words}")' if conditions else ""
    return GUARDED.format(baked=baked_in, unless=unless, **_shared(task, found))


def part(name: str) -> str:
    """A section of an exported file."""
    return (PARTS / f"{name}.py.txt").read_text(encoding="utf-8")


def fits_exactly(
    names: Sequence[str], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], dense: Sequence[str] = ()
) -> str:
    """The function `_fits` of kernels that are for these shapes alone; those named in `dense` must be dense and row-major."""
    first = names[0]
    packed = ", ".join(f"{name}.is_contiguous()" for name in dense)
    lines = [
        f"def _fits({', '.join(names)}):",
        '    """Whether the kernels are for these tensors; they have no backward."""',
        f"    tensors = {as_tuple(list(names))}",
        "    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):",
        "        return False",
        f'    here = INTERPRETED or {first}.device.type == "cuda"',
        f"    alike = all(t.device == {first}.device for t in tensors)",
        f"    dtypes = [t.dtype for t in tensors] == [{', '.join(f'torch.{dtype}' for dtype in dtypes)}]",
        f"    shapes = [tuple(t.shape) for t in tensors] == {list(shapes)!r}",
        f"    return here and alike and shapes and dtypes{f' and all([{packed}])' if dense else ''}",
    ]
    return "\n".join(lines) + "\n"


def as_tuple(items: list[str]) -> str:
    """A tuple of these expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _shared(task: Task, found: Reference) -> dict[str, str]:
    names = arguments(task, found)
    pairs = zip(names, task.workload.inputs, strict=True)
    inputs = [name for name, spec in pairs if not isinstance(spec, Scalar)]
    tensors = inputs + [attribute(spec.name) for spec in task.workload.parameters]
    plain = found.arguments[: len(names)] == tuple(names)
    return {
        "signature": found.signature if plain else ", ".join(names),
        "passed": found.passed if plain else ", ".join(names),
        "tensors": as_tuple(tensors),
    }


def _conditions(task: Task, found: Reference) -> list[str]:
    names = arguments(task, found)
    return [*baked(task, names), *extras(found, len(names))]
