"""Migration of samples that a change of PyTorch or Triton broke: a table of rewrites, each one named API.

Code that `torch.compile` once wrote leans on private parts of PyTorch, which come and go. Each rewrite puts a few public
lines in the place of one such part, so that the sample stands alone. What was rewritten is told with the sample, and the
referee judges the result like any kernel.
"""

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Rewrite(NamedTuple):
    """One API that changed."""

    name: str
    """Told with each sample that needed it."""
    since: str
    """What changed, and when."""
    pattern: str
    """Of the statement that imports or binds it; group `as` is the name that it is used under, where it has one."""
    lines: str = ""
    """What stands in for it, with `{name}` for that name; empty: the statement just goes."""


GRID = '''\
def {name}(*numels):
    """Programs for each axis: its elements over its block. Elements are given the last axis first."""
    sizes = dict(zip("XYZ", reversed(numels)))

    def programs(meta):
        return tuple(triton.cdiv(sizes.get(axis, 1), meta.get(axis + "BLOCK", 1)) for axis in "XYZ")

    return programs'''
SCAN_GRID = '''\
def {name}(xnumel, rnumel):
    """Programs of a scan: rows along y, blocks of a row along x."""
    return lambda meta: (triton.cdiv(rnumel, meta.get("RBLOCK", 1)), xnumel, 1)'''
EXTERN = '''\
class {name}:
    """Library calls under the names that generated code uses."""

    mm, bmm, addmm, baddbmm, addmv = torch.mm, torch.bmm, torch.addmm, torch.baddbmm, torch.addmv

    @staticmethod
    def convolution(x, weight, bias=None, **how):
        """A convolution as generated code calls it."""
        return torch.convolution(x, weight, bias, **how)

    @staticmethod
    def bias_addmm(bias, a, b, out=None, alpha=1, beta=1):
        """A product with a bias along rows."""
        return torch.addmm(bias, a, b, alpha=alpha, beta=beta, out=out)'''
STREAM = '''\
def {name}(index):
    """The handle of the current stream."""
    return torch.cuda.current_stream(index).cuda_stream'''
STRIDE = '''\
def {name}(tensor, size, stride, *_):
    """Fail on a tensor of another layout."""
    assert tuple(tensor.shape) == tuple(size) and (0 in size or tuple(tensor.stride()) == tuple(stride))'''
EMPTY = '''\
def {name}(size, stride, dtype):
    """A new tensor of this layout."""
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")'''
REINTERPRET = '''\
def {name}(tensor, size, stride, offset=0):
    """The same memory in another layout."""
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)'''

_FROM = r"^from {module} import {what}(?: as (?P<as>\w+))?[ \t]*$"
_BOUND = r"^(?P<as>\w+)[ \t]*=[ \t]*{path}[ \t]*$"


def _imported(module: str, what: str) -> str:
    return _FROM.format(module=module.replace(".", r"\."), what=what)


def _bound(path: str) -> str:
    return _BOUND.format(path=path.replace(".", r"\."))


_HEURISTICS = r"torch\._inductor\.(?:runtime\.)?triton_heuristics"
REWRITES: tuple[Rewrite, ...] = (
    Rewrite(
        "triton_heuristics.grid",
        "torch 2.7: kernels work out their grids themselves",
        rf"^from {_HEURISTICS} import grid(?: as (?P<as>\w+))?[ \t]*$",
        GRID,
    ),
    Rewrite(
        "triton_heuristics.split_scan_grid",
        "torch 2.7: as `grid`",
        rf"^from {_HEURISTICS} import split_scan_grid(?: as (?P<as>\w+))?[ \t]*$",
        SCAN_GRID,
    ),
    Rewrite(
        "select_algorithm.extern_kernels",
        "private; it moves, and is no module of functions any more",
        _imported("torch._inductor.select_algorithm", "extern_kernels"),
        EXTERN,
    ),
    Rewrite(
        "torch._C._cuda_getCurrentRawStream",
        "private; absent where PyTorch was built without CUDA",
        _imported("torch._C", "_cuda_getCurrentRawStream"),
        STREAM,
    ),
    Rewrite("guards.assert_size_stride", "private", _bound("torch._C._dynamo.guards.assert_size_stride"), STRIDE),
    Rewrite("guards._empty_strided_cuda", "private", _bound("torch._C._dynamo.guards._empty_strided_cuda"), EMPTY),
    Rewrite(
        "guards._reinterpret_tensor", "private", _bound("torch._C._dynamo.guards._reinterpret_tensor"), REINTERPRET
    ),
    Rewrite(
        "guards.reinterpret_tensor",
        "torch 2.5: another name",
        _bound("torch._inductor.utils.reinterpret_tensor"),
        REINTERPRET,
    ),
    Rewrite(
        "triton.compiler.instance_descriptor",
        "Triton 3: attributes of a kernel are no record of that name",
        r"^from (?:torch\._inductor\.utils|triton\.compiler) import instance_descriptor[ \t]*$",
    ),
    Rewrite("torch.cuda.set_device", "the caller's affair", r"^[ \t]+torch\.cuda\.set_device\(\d+\)[^\n]*$"),
)
"""Imports and bindings, each at a line of its own. To add one: its pattern and what stands in for it."""
PHRASES: tuple[tuple[str, str, str], ...] = (
    ("torch.cuda._DeviceGuard", r"torch\.cuda\._DeviceGuard\(\d+\)", "contextlib.nullcontext()"),
    ("tl.math", r"\btl\.math\.(rsqrt|sqrt|exp|log|abs|sin|cos)\b", r"tl.\1"),
    ("tl.libdevice", r"\btl\.libdevice\.(\w+)", r"libdevice.\1"),
)
"""Expressions: name, pattern, and what takes their place."""
NEEDED = {
    "contextlib.": "import contextlib",
    "libdevice.": "from triton.language.extra import libdevice",
    "torch.": "import torch",
    "triton.": "import triton",
}
"""Imports by what a migrated text uses, where it has none."""


class Migrated(NamedTuple):
    """A text that stands on public parts, and what had to be rewritten."""

    text: str
    rewrites: tuple[str, ...]


def migrate(text: str) -> Migrated:
    """The source with every known change applied; the same text where there is nothing to change."""
    told: list[str] = []
    for one in REWRITES:
        text, count = re.subn(one.pattern, partial(_in_place, one), text, flags=re.MULTILINE)
        told += [one.name] * bool(count)
    for name, pattern, put in PHRASES:
        text, count = re.subn(pattern, put, text)
        told += [name] * bool(count)
    return Migrated(_with_imports(text) if told else text, tuple(told))


def _in_place(one: Rewrite, found: re.Match[str]) -> str:
    if not one.lines:
        return ""
    name = found.groupdict().get("as") or one.name.rpartition(".")[2]
    return one.lines.replace("{name}", name)


def _with_imports(text: str) -> str:
    """The text with the imports that the rewrites need, ahead of everything."""
    missing: Sequence[str] = [
        line
        for used, line in NEEDED.items()
        if used in text and not re.search(rf"^{re.escape(line)}\b", text, re.MULTILINE)
    ]
    return "\n".join([*missing, text])
