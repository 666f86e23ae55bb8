"""Lowering: what `torch.compile` writes for a task, as text that was taken before anything of it was compiled or run.

The text is Inductor's own, a wrapper that allocates buffers and launches kernels. `propose/inductor` makes a candidate of it.
"""

from kernelwright.records.base import Record

Options = dict[str, bool | int | str]
"""Settings of Inductor's configuration, by their dotted names."""
MOST_CHARACTERS = 600_000
"""Longest text that is taken over: hundreds of kernels are nobody's start."""


class LoweredKernel(Record):
    """A Triton kernel of the text, and what Inductor would choose its launch among on this device."""

    name: str
    grid: str
    """How a grid follows from sizes and blocks, by Inductor's name, such as `Grid1D`."""
    settings: tuple[dict[str, int], ...]
    """Blocks by their parameters' names, `num_warps` and `num_stages`; what Inductor would try first stands first."""


class Lowering(Record):
    """What was written, or why nothing was."""

    text: str = ""
    helpers: str = ""
    """The module whose functions Triton kernels call, as the installed PyTorch has it."""
    kernels: tuple[LoweredKernel, ...] = ()
    missing: str = ""
    """Why there is no text; empty where there is one."""
