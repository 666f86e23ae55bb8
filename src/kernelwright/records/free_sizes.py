"""Which sizes of a task may differ from those that it was traced with, and what else in its graph follows from them."""

from pydantic import Field

from kernelwright.records.base import Record


class FreeAxis(Record):
    """One size that a caller may choose."""

    name: str
    """A short one, for expressions; such as `size0`."""
    size: int
    """What it was when the task was traced."""
    low: int = 1
    """The least for which the reference was found to be what was traced."""
    high: int | None = None
    """The largest; None: nothing limits it."""


class FreeSizes(Record):
    """A task's free axes; `tasks/free_axes.py` works out the task at other sizes."""

    axes: tuple[FreeAxis, ...] = Field(min_length=1)
    places: dict[str, str]
    """Numbers of workload and graph that follow from the axes, as expressions, by their paths, such as `inputs.0.shape.0`."""

    def along(self, path: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        """A shape whose numbers have this path, as expressions over the axes' names."""
        return tuple(self.places.get(f"{path}.{n}", str(size)) for n, size in enumerate(shape))


class OtherSizes(Record):
    """A kernel for other sizes than those that it was judged at: the same one, with sizes as arguments."""

    axes: tuple[FreeAxis, ...]
    """Those that are free for it, each in the range for which the text holds. All others are as they were traced."""
    source: str
    """Its text, over the axes' names: in C++ whoever compiles it declares them, in Triton they are arguments."""
    workspace: str = "0"
    """Bytes of workspace, as an expression over the axes' names."""
