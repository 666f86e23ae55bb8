"""What `torch.compile` writes for the installed PyTorch, made to stand alone: kernels and launches on public parts.

Inductor's text holds each kernel as a string behind heuristics of its own, and a `call` that runs them. `standalone` keeps
kernels and allocations, replaces private helpers by a few public lines, and works out the grids. No device is needed for
the text: Inductor is asked for Triton on the CPU, and its output is taken before anything is compiled.

`python -m kernelwright.train.data.inductor` answers a line with a task's text by one with Inductor's, until its input ends.
"""

import ast
import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from kernelwright.errors import ProposeError
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Task, TaskSource
from kernelwright.train.data.collect import Pair

LONGEST_LINE = 1 << 24
HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn"
HELPERS = {
    "maximum": """\
@triton.jit
def maximum(a, b):
    return tl.where((a > b) | (a != a), a, b)""",
    "minimum": """\
@triton.jit
def minimum(a, b):
    return tl.where((a < b) | (a != a), a, b)""",
    "max2": """\
@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)""",
    "min2": """\
@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)""",
    "promote_to_tensor": """\
@triton.jit
def promote_to_tensor(x):
    return x + tl.zeros((1,), tl.int1)""",
}
"""Stand-ins for `torch._inductor.runtime.triton_helpers`, by name."""
NEEDS = {"max2": ("maximum",), "min2": ("minimum",)}
IMPORTS = {
    "libdevice.": "from triton.language.extra import libdevice",
    "tl_math.": "from triton.language import math as tl_math",
}
BLOCKS = {"XBLOCK": 128, "YBLOCK": 32}
"""Largest blocks; a block is no larger than the power of two that holds all elements of its axis."""
LARGEST_REDUCTION_BLOCK = 2048
GONE = ("assert_size_stride", "assert_alignment", "get_raw_stream", "args")
_HELPER = re.compile(r"\btriton_helpers\.(\w+)")


class UnreadableError(ValueError):
    """Inductor's text has something that is not rewritten: a library call, a helper, a template."""


class Kernel(NamedTuple):
    """One kernel of the text."""

    name: str
    parameters: tuple[str, ...]
    text: str
    persistent: bool


def standalone(text: str) -> str:
    """Inductor's text as a module with `ModelNew`.

    Raises:
        UnreadableError: a part of it is not rewritten.
    """
    tree = ast.parse(text)
    kernels = {one.name: one for one in _kernels(tree)}
    if not kernels:
        raise UnreadableError("it has no Triton kernel")
    forward = _forward(tree, kernels)
    body = "\n\n\n".join(one.text for one in kernels.values())
    used = list(dict.fromkeys(_HELPER.findall(body)))
    if unknown := [name for name in used if name not in HELPERS]:
        raise UnreadableError(f"triton_helpers.{unknown[0]} is not rewritten")
    wanted = dict.fromkeys([*(n for name in used for n in NEEDS.get(name, ())), *used])
    imports = [HEAD, *(line for sign, line in IMPORTS.items() if sign in body)]
    parts = ["\n".join(imports), *(HELPERS[name] for name in wanted), _HELPER.sub(r"\1", body), forward]
    return "\n\n\n".join(parts) + "\n"


def _kernels(tree: ast.Module) -> Iterator[Kernel]:
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="async_compile"), attr="triton"),
                    args=[_, ast.Constant(value=str(text)), *_],
                ),
            ):
                yield _kernel(name, text)
            case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id="async_compile"), attr=kind))):
                raise UnreadableError(f"a kernel in {kind}")


def _kernel(name: str, text: str) -> Kernel:
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
    heuristics = [
        d.func.attr for d in function.decorator_list if isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute)
    ]
    if any(kind not in ("pointwise", "reduction", "persistent_reduction") for kind in heuristics):
        raise UnreadableError(f"heuristics {heuristics}")
    lines = text.splitlines()[function.lineno - 1 : function.end_lineno]
    code = "\n".join(["@triton.jit", *(line for line in lines if line.strip())])
    parameters = tuple(one.arg for one in function.args.args)
    return Kernel(name, parameters, code, "persistent_reduction" in heuristics)


def _forward(tree: ast.Module, kernels: dict[str, Kernel]) -> str:
    """The method `call` as `forward`."""
    call = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if call is None:
        raise UnreadableError("it has no call")
    taken = next((n for n in call.body if isinstance(n, ast.Assign) and ast.unparse(n.value) == "args"), None)
    if taken is None or not isinstance(taken.targets[0], ast.Tuple | ast.List):
        raise UnreadableError("its call takes no arguments")
    names = [ast.unparse(one) for one in taken.targets[0].elts]
    statements = [text for node in call.body if node is not taken and (text := _statement(node, names, kernels))]
    lines = [f"        {line}" for text in statements for line in text.splitlines()]
    return "\n".join(["class ModelNew(nn.Module):", f"    def forward({', '.join(['self', *names])}):", *lines])


def _statement(node: ast.stmt, names: Sequence[str], kernels: dict[str, Kernel]) -> str:
    """One statement of `call`; empty: it goes."""
    match node:
        case ast.Delete() | ast.Pass():
            return ""
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith(("raw_stream", "stream")):
            return ""
        case ast.Assign():
            return _allocation(node, names)
        case ast.Expr(value=ast.Call() as called):
            return _called(called, kernels)
        case ast.Return(value=ast.Tuple(elts=[one])):
            return f"return {ast.unparse(one)}"
        case ast.Return(value=ast.expr() as value):
            return f"return {ast.unparse(value)}"
    raise UnreadableError(ast.unparse(node).splitlines()[0])


def _called(node: ast.Call, kernels: dict[str, Kernel]) -> str:
    match node.func:
        case ast.Attribute(value=ast.Name(id=name), attr="run") if name in kernels:
            return _launch(kernels[name], node.args)
    if ast.unparse(node.func).split(".")[0] in GONE:
        return ""
    raise UnreadableError(ast.unparse(node.func))


def _allocation(node: ast.Assign, names: Sequence[str]) -> str:
    text = ast.unparse(node)
    text = re.sub(
        r"\bempty_strided_(?:cpu|cuda)\((\([^()]*\)), (\([^()]*\)), ([\w.]+)\)",
        rf"torch.empty_strided(\1, \2, dtype=\3, device={names[0]}.device)",
        text,
    )
    text = re.sub(r"\breinterpret_tensor\(", "torch.as_strided(", text)
    for called in ast.walk(ast.parse(text)):
        if isinstance(called, ast.Call) and not ast.unparse(called.func).startswith(
            ("torch.empty_strided", "torch.as_strided")
        ):
            raise UnreadableError(ast.unparse(called.func))
    return text


def _launch(kernel: Kernel, given: Sequence[ast.expr]) -> str:
    values = dict(zip(kernel.parameters, map(ast.unparse, given), strict=False))
    missing = [name for name in kernel.parameters if name not in values]
    sizes = {
        name: int(values[f"{axis}numel"])
        for name, axis in (("XBLOCK", "x"), ("YBLOCK", "y"))
        if f"{axis}numel" in values
    }
    blocks = {}
    for name in missing:
        if name in BLOCKS:
            reduces = "r0_numel" in values
            blocks[name] = 1 if reduces else min(BLOCKS[name], _power_of_two(sizes[name]))
        elif name == "R0_BLOCK":
            blocks[name] = min(LARGEST_REDUCTION_BLOCK, _power_of_two(int(values["r0_numel"])))
        else:
            raise UnreadableError(f"the argument {name}")
    grid = ", ".join(str(-(-size // blocks.get(name, 1))) for name, size in sizes.items())
    arguments = [
        *(values[name] for name in kernel.parameters if name in values),
        *(f"{n}={v}" for n, v in blocks.items()),
    ]
    return f"{kernel.name}[({grid},)]({', '.join([*arguments, 'num_warps=4'])})"


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def compiled(sources: Iterable[TaskSource], inductor: "Inductor") -> Iterator[Pair]:
    """Modules whose kernels `torch.compile` writes."""

    async def written(task: Task) -> Candidate:
        return await inductor.write(task)

    return (Pair("compile", source, written) for source in sources)


class Inductor:
    """A process with PyTorch that writes one task after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process, self._turn = process, asyncio.Lock()

    async def write(self, task: Task) -> Candidate:
        """The kernels of a module without parameters.

        Raises:
            ProposeError: Inductor cannot, or what it writes cannot be made to stand alone.
        """
        if task.workload.parameters:
            raise ProposeError("modules with parameters are left out: Inductor takes them as arguments")
        async with self._turn:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(task.source.source).encode() + b"\n")
            answer = await self._process.stdout.readline()
        if not answer:
            raise ProposeError("the process with PyTorch has ended")
        found = json.loads(answer)
        try:
            return Candidate(language="triton", source=standalone(found["text"]))
        except (KeyError, UnreadableError) as error:
            raise ProposeError(found.get("error") or str(error)) from None


@asynccontextmanager
async def inductor() -> AsyncIterator[Inductor]:
    """A process that lives as long as the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kernelwright.train.data.inductor", limit=LONGEST_LINE,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Inductor(process)
    finally:
        process.kill()
        await process.wait()


def text_of(source: str) -> str:
    """Inductor's text for a task, Triton on the CPU; only for tasks that are trusted: they run in this process.

    Raises:
        Exception: whatever the task, export or Inductor raise.
    """
    import torch  # noqa: PLC0415
    import triton  # noqa: PLC0415
    from torch._inductor import config, graph  # noqa: PLC0415

    from kernelwright.evaluate.triton.device import RecordingDriver  # noqa: PLC0415
    from kernelwright.knowledge.hardware import hardware  # noqa: PLC0415

    torch.set_num_threads(1)
    torch._dynamo.reset()
    config.cpu_backend, config.compile_threads, config.fx_graph_cache = "triton", 1, False
    triton.runtime.driver._active = RecordingDriver(hardware("sm_90"))
    taken: list[str] = []

    def take(code: str) -> None:
        taken.append(code)
        raise RuntimeError("the text is all that is wanted")

    graph.GraphLowering.save_output_code = staticmethod(take)
    names: dict[str, object] = {}
    exec(compile(source, "task", "exec"), names)  # noqa: S102  the caller trusts it
    inputs = names["get_inputs"]()  # type: ignore[operator]
    module = torch.export.export(names["Model"](), tuple(inputs)).module()  # type: ignore[operator]
    try:
        torch._inductor.compile(module, list(inputs))
    except Exception:
        if not taken:
            raise
    return taken[-1]


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        try:
            found = {"text": text_of(json.loads(line))}
        except Exception as error:  # noqa: BLE001  told to whoever asked
            found = {"error": f"{type(error).__name__}: {error}"[:500]}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
