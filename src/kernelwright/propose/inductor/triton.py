"""Inductor's text for a GPU as a Triton module: its kernels, the function that launches them, and a drop-in `ModelNew`.

The kernels stay as Inductor wrote them. Its wrapper becomes a function on PyTorch's public parts, and its choice of a
launch, which it makes by timing on the device, becomes a table with a tunable for each kernel.
"""

import ast
import re
from collections.abc import Iterator

from kernelwright.export.reference import Reference, fits_exactly, reference
from kernelwright.propose.author.emit.triton_file import IMPORTS, INTERPRETED, triton_file
from kernelwright.propose.inductor.schedule import TritonLaunches, settings_of
from kernelwright.propose.inductor.text import Buffer, Launch, Library, Step, UnreadableError, View, Wrapper
from kernelwright.propose.inductor.triton_functions import PREFIX, Helpers, Renamed
from kernelwright.records.candidate import Candidate, Tunable
from kernelwright.records.lowering import LoweredKernel, Lowering
from kernelwright.records.task import Task

NAMED = {
    "libdevice": "from triton.language.extra import libdevice",
    "tl_math": "from triton.language import math as tl_math",
    "aten": "from torch.ops import aten",
}
LIBRARY = {name: f"torch.{name}" for name in ("mm", "bmm", "addmm", "baddbmm")} | {
    "convolution": "torch.ops.aten.convolution.default",
    "mv": "torch.mv",
    "addmv": "torch.addmv",
    "dot": "torch.dot",
}
"""What stands behind Inductor's names of PyTorch's libraries."""
MOST_Y = 65535
"""Programs along a grid's second and third axis."""
AXES = (("x", "XBLOCK"), ("y", "YBLOCK"), ("z", "ZBLOCK"))
VIEW = '''\
def _view(tensor, shape, stride, offset=0):
    """The same memory from another place on, in another shape."""
    return torch.as_strided(tensor, shape, stride, tensor.storage_offset() + offset)
'''


def write_triton(task: Task, lowering: Lowering, wrapper: Wrapper, launches: TritonLaunches) -> Candidate:
    """The text as a candidate.

    Raises:
        UnreadableError: a part of it is not rewritten.
        ProposeError: the task's source has names that the file needs.
    """
    module = _Module(task, lowering, wrapper, launches)
    tunables = [Tunable(name=name, values=tuple(range(len(table)))) for name, table in module.open.items()]
    return Candidate(language="triton", source=module.text(), tunables=tuple(tunables))


class _Module:
    """One module in the making."""

    def __init__(self, task: Task, lowering: Lowering, wrapper: Wrapper, launches: TritonLaunches) -> None:
        self.task, self.wrapper = task, wrapper
        self.found: Reference = reference(task.source.source)
        self.helpers = Helpers(lowering.helpers)
        lowered = {kernel.name: kernel for kernel in lowering.kernels}
        self.kernels: dict[str, tuple[int, LoweredKernel]] = {}
        self.tables: dict[str, tuple[dict[str, int], ...]] = {}
        for number, name in enumerate(wrapper.kernels):
            if name not in lowered or not lowered[name].settings:
                raise UnreadableError(f"nothing is known of how {name} is launched")
            self.kernels[name] = number, lowered[name]
            self.tables[name] = settings_of(lowered[name], launches)
        self.parameters: dict[str, tuple[str, ...]] = {}
        self.texts, called = [], set()
        for name, kernel in wrapper.kernels.items():
            text, needs = self.helpers.inlined(_function(kernel.text, name))
            self.parameters[name] = _parameters(text)
            self.texts.append(text)
            called |= needs
        self.helper_texts = self.helpers.text(called)

    @property
    def open(self) -> dict[str, tuple[dict[str, int], ...]]:
        """The tables with a choice, by their tunable's name."""
        return {self._choice(name): table for name, table in self.tables.items() if len(table) > 1}

    def text(self) -> str:
        run = self._run()
        views = [VIEW] if "_view(" in run else []
        body = "\n\n\n".join([*self.helper_texts, *self.texts])
        arguments = [*self.task.workload.tensors, *self.task.workload.parameters]
        fits = fits_exactly(
            self.wrapper.arguments,
            [a.shape for a in arguments],
            [a.dtype for a in arguments],
            dense=self.wrapper.arguments,
        )
        parts = [self._settings(), body, *views, run, fits]
        names = {"_view", *self.kernels, *(name for name in self.found.names if PREFIX in name)}
        needed = [line for name, line in NAMED.items() if re.search(rf"\b{name}\.", body + run)]
        return triton_file(self.task, self.found, self._idea(), parts, names, (*IMPORTS, *needed))

    def _idea(self) -> str:
        count = len(self.kernels)
        said = "one kernel" if count == 1 else f"{count} kernels"
        return f"{said}, as torch.compile writes them, in Triton."

    def _settings(self) -> str:
        lines = [INTERPRETED]
        for name, table in self.tables.items():
            rows = [f"    {setting!r}," for setting in table]
            lines += [f"# Of {name}: how it is launched.", f"{self._table(name)} = (", *rows, ")"]
            lines += [f"{self._choice(name)} = 0"]
        return "\n".join(lines)

    def _table(self, name: str) -> str:
        return f"LAUNCHES{self.kernels[name][0]}"

    def _choice(self, name: str) -> str:
        return f"LAUNCH{self.kernels[name][0]}"

    def _run(self) -> str:
        names = self.wrapper.arguments
        lines = ["@torch.compiler.disable", f"def _run({', '.join(names)}):"]
        lines += ['    """Run the kernels on tensors that fit."""', f"    with torch.cuda.device_of({names[0]}):"]
        lines += [f"        {line}" for step in self.wrapper.steps for line in self._step(step)]
        returned = [self._spelled(one) for one in self.wrapper.returned]
        return "\n".join([*lines, f"    return {', '.join(returned)}"])

    def _step(self, step: Step) -> Iterator[str]:
        match step:
            case Buffer(name=name, shape=shape, stride=stride, dtype=dtype):
                where = f"dtype=torch.{dtype}, device={self.wrapper.arguments[0]}.device"
                yield f"{name} = torch.empty_strided({shape}, {stride}, {where})"
            case View(name=name):
                yield f"{name} = {self._spelled(step)}"
            case Launch():
                yield from self._launch(step)
            case Library(results=results, call=call):
                text = _library(call)
                yield f"{results} = {text}" if results else text

    def _spelled(self, operand: str | View) -> str:
        if isinstance(operand, str):
            return operand
        if operand.shape is None:
            return operand.of
        offset = f", {operand.offset}" if operand.offset else ""
        return f"_view({operand.of}, {operand.shape}, {operand.stride}{offset})"

    def _launch(self, step: Launch) -> Iterator[str]:
        _, kernel = self.kernels[step.kernel]
        given = [self._spelled(one) for one in step.arguments]
        sizes = dict(zip(self.parameters[step.kernel], given, strict=False))
        chosen = f"launch{self.kernels[step.kernel][0]}"
        yield f"{chosen} = {self._table(step.kernel)}[{self._choice(step.kernel)}]"
        grid = _grid(kernel, sizes, chosen)
        yield f"{step.kernel}[{grid}]({', '.join(given)}, **{chosen})"


def _grid(kernel: LoweredKernel, sizes: dict[str, str], chosen: str) -> str:
    """The grid of a launch, as Inductor's class of that name works it out."""
    counts = [_count(kernel, sizes, chosen, axis, block) for axis, block in AXES if f"{axis}numel" in sizes]
    plain = {"Grid1D": 1, "Grid2D": 2, "Grid3D": 3}
    if kernel.grid in plain and len(counts) >= plain[kernel.grid]:
        return f"({', '.join(counts[: plain[kernel.grid]])},)"
    if kernel.grid == "Grid2DWithYZOverflow" and len(counts) == 2:
        layers = f"triton.cdiv({counts[1]}, {MOST_Y})"
        return f"({counts[0]}, triton.cdiv({counts[1]}, {layers}), {layers})"
    raise UnreadableError(f"the grid {kernel.grid!r}")


def _count(kernel: LoweredKernel, sizes: dict[str, str], chosen: str, axis: str, block: str) -> str:
    size = sizes[f"{axis}numel"]
    return f'triton.cdiv({size}, {chosen}["{block}"])' if block in kernel.settings[0] else size


def _function(text: str, name: str) -> str:
    """The kernel without Inductor's heuristics, behind the functions of its own that it scans by."""
    functions = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    if not functions:
        raise UnreadableError(f"{name} has no function")
    *own, function = functions
    known = ("pointwise", "reduction", "persistent_reduction")
    kinds = [
        d.func.attr for d in function.decorator_list if isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute)
    ]
    if any(kind not in known for kind in kinds):
        raise UnreadableError(f"heuristics {kinds}")
    function.decorator_list = [ast.parse("triton.jit", mode="eval").body]
    function.name = name
    # Two kernels may each have one of the same name.
    names = {one.name: f"{name}_{one.name.strip('_')}" for one in own}
    return "\n\n\n".join(ast.unparse(Renamed(names).visit(one)) for one in functions)


def _parameters(text: str) -> tuple[str, ...]:
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    return tuple(one.arg for one in function.args.args)


def _library(call: ast.expr) -> str:
    """A call of PyTorch's own operation by its public name."""
    text = ast.unparse(call)
    for name in set(re.findall(r"\bextern_kernels\.(\w+)", text)):
        if name not in LIBRARY:
            raise UnreadableError(f"extern_kernels.{name}")
        text = text.replace(f"extern_kernels.{name}(", f"{LIBRARY[name]}(")
    return re.sub(r"\breinterpret_tensor\(", "_view(", text)
