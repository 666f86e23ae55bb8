"""Inductor's text for the CPU as one C++17 file with OpenMP: its kernels, and an entry that runs them one after another.

The kernels stay as Inductor wrote them. What they call of PyTorch's headers is replaced by a page of C++ on the compiler's
vector extension (`parts/`), and by the author's vectorisable functions. A kernel that calls anything else is not rewritten.
"""

import re
from math import prod
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import ProposeError
from kernelwright.propose.author.emit.cpp import MEMORY
from kernelwright.propose.author.emit.cpp_file import aligned, cpp_file, selected
from kernelwright.propose.author.emit.scope import identifiers
from kernelwright.propose.inductor.schedule import CppLoops
from kernelwright.propose.inductor.text import Buffer, KernelText, Launch, Library, UnreadableError, View, Wrapper
from kernelwright.records.candidate import Candidate, Tunable
from kernelwright.records.task import Task
from kernelwright.records.tensor import ITEM_BYTES, DType, TensorSpec

PARTS = Path(__file__).parent / "parts"
FLAGS = ("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
"""As Inductor compiles, but for what might change a result."""
HEADERS = ("algorithm", "array", "cmath", "cstring", "limits", "memory", "omp.h")
MAPPED = ("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos")
"""Functions that the author has as vector code."""
METHODS = {
    "loadu", "store", "blendv", "cast", "from", "neg", "abs", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round",
    "reciprocal", "all_zero", "all_masked", "data", "get", *MAPPED,
}  # fmt: skip
PLAIN = {
    "for", "if", "static_cast", "float", "double", "decltype", "num_threads", "omp_get_thread_num", "C10_LIKELY",
    "C10_UNLIKELY", "max_propagate_nan", "min_propagate_nan", "cascade_sum_combine", "cascade_sum_final",
    "sum_masked_reduce", "max_masked_reduce", "min_masked_reduce", "return", "sizeof", "TORCH_CHECK", "AOTI_TORCH_CHECK",
    "bool", "int64_t", "int32_t", "cast",
}  # fmt: skip
STANDARD = {
    *MAPPED,
    "sqrt",
    "abs",
    "fabs",
    "pow",
    "floor",
    "ceil",
    "trunc",
    "nearbyint",
    "isnan",
    "isinf",
    "min",
    "max",
}
LIMITS = {"infinity", "quiet_NaN", "lowest", "max", "min"}
VECTORS = {"Vectorized", "VecMask", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "vec_reduce_all"}
_CALLED = re.compile(r"((?:[A-Za-z_]\w*::)*)(\.?[A-Za-z_]\w*|::\w+)(?:<[^<>();]*(?:<[^<>();]*>)?[^<>();]*>)?\s*\(")


class _Root(NamedTuple):
    """Where a name's memory begins: an argument, an output, or a buffer; and how far in."""

    pointer: str
    offset: int


def must_change_nothing(task: Task) -> None:
    """A C++ kernel gets what it reads as constants.

    Raises:
        ProposeError: the task writes to what it is handed.
    """
    if task.workload.changes:
        raise ProposeError(f"{task.name!r} writes to {task.workload.changes[0]!r}, which C++ may not")


def write_cpp(task: Task, wrapper: Wrapper, loops: CppLoops) -> Candidate:
    """The text as a candidate.

    Raises:
        UnreadableError: a part of it is not rewritten.
        ProposeError: the task writes to what it is handed.
    """
    must_change_nothing(task)
    program = _Program(task, wrapper)
    threads = program.threads
    values = tuple(dict.fromkeys((threads, max(1, threads // 2))))
    return Candidate(
        language="cpp",
        source=program.text(),
        entry=program.name,
        flags=(*FLAGS, f"-mprefer-vector-width={loops.vector_bits}", *(("-funroll-loops",) * loops.unrolled)),
        workspace_bytes=program.workspace_bytes,
        tunables=(Tunable(name="THREADS", values=values),) * (len(values) > 1),
    )


class _Program:
    """One file in the making."""

    def __init__(self, task: Task, wrapper: Wrapper) -> None:
        self.task, self.wrapper = task, wrapper
        self.name = identifiers([task.name])[0]
        given = (*task.workload.tensors, *task.workload.parameters)
        if len(given) != len(wrapper.arguments) or len(task.workload.outputs) != len(wrapper.returned):
            raise UnreadableError("it takes or gives other tensors than the task")
        self.arguments: dict[str, TensorSpec] = dict(zip(wrapper.arguments, given, strict=True))
        self.buffers = {step.name: step for step in wrapper.steps if isinstance(step, Buffer)}
        self.views = {step.name: step for step in wrapper.steps if isinstance(step, View)}
        if foreign := [s for s in wrapper.steps if isinstance(s, Library)]:
            called = dict.fromkeys(s.operator for s in foreign if s.operator)
            raise UnreadableError(f"it calls PyTorch: {', '.join(called)}")
        self.outputs, self.copies = self._placed()
        self.kernels = {name: _kernel(kernel) for name, kernel in wrapper.kernels.items()}
        found = [int(n) for text in self.kernels.values() for n in re.findall(r"num_threads\((\d+)\)", text)]
        self.threads = max(found, default=1)
        self.workspace = [b for name, b in self.buffers.items() if name not in self.outputs]

    @property
    def workspace_bytes(self) -> int:
        """Of all buffers that are no output."""
        return sum(map(_nbytes, self.workspace))

    def text(self) -> str:
        """The whole file."""
        kernels = [
            text.replace(f"num_threads({self.threads})", "num_threads(THREADS)") for text in self.kernels.values()
        ]
        body = "\n\n".join(kernels)
        used = {n for n in MAPPED if f"fast::{n}(" in body or re.search(rf"\.{n}\(\)", body)}
        count = len(self.kernels)
        said = "one kernel" if count == 1 else f"{count} kernels"
        comment = [f"{self.task.name}: {said}, as torch.compile writes them, for these shapes."]
        whole = "\n\n".join([*self._parts(body, used), body, self._entry()]) + "\n"
        return cpp_file(comment, whole, selected(used, libm=False), HEADERS, self._macros(body))

    # Memory.

    def _placed(self) -> tuple[dict[str, str], list[tuple[str, _Root, int]]]:
        """The buffers that are outputs, and what must be copied to the others."""
        outputs: dict[str, str] = {}
        copies: list[tuple[str, _Root, int]] = []
        for number, (value, spec) in enumerate(zip(self.wrapper.returned, self.task.workload.outputs, strict=True)):
            name = f"out{number}"
            root = self._root(value)
            buffer = self.buffers.get(root.pointer)
            whole = buffer is not None and root.offset == 0 and root.pointer not in outputs
            self._must_be_dense(value, spec)
            if whole and buffer is not None and _nbytes(buffer, exact=True) == spec.nbytes:
                outputs[root.pointer] = name
            else:
                copies.append((name, root, spec.nbytes))
        return outputs, copies

    def _must_be_dense(self, value: str | View, spec: TensorSpec) -> None:
        shape, stride = self._layout(value)
        if shape != spec.shape or any(
            size > 1 and step != prod(spec.shape[axis + 1 :])
            for axis, (size, step) in enumerate(zip(shape, stride, strict=True))
        ):
            raise UnreadableError(f"the result {spec.name!r} is not dense and row-major")

    def _layout(self, value: str | View) -> tuple[tuple[int, ...], tuple[int, ...]]:
        view = self.views.get(value) if isinstance(value, str) else value
        if view is not None:
            return (view.shape, view.stride) if view.shape is not None else self._layout(view.of)
        assert isinstance(value, str)
        if value in self.buffers:
            return self.buffers[value].shape, self.buffers[value].stride
        shape = self.arguments[value].shape
        return shape, tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))

    def _root(self, value: str | View) -> _Root:
        """The memory behind a name."""
        view = self.views.get(value) if isinstance(value, str) else value
        if view is None:
            assert isinstance(value, str)
            return _Root(value, 0)
        below = self._root(view.of)
        return _Root(below.pointer, below.offset + view.offset)

    def _pointer(self, root: _Root) -> str:
        name = self.outputs.get(root.pointer, root.pointer)
        return f"{name} + {root.offset}" if root.offset else name

    # Text.

    def _macros(self, body: str) -> list[str]:
        lines = ["#ifndef THREADS", f"#define THREADS {self.threads}", "#endif"]
        lines += ["using std::int32_t;", "using std::int64_t;"]
        lines += [f"#define {name}(x) (x)" for name in ("C10_LIKELY", "C10_UNLIKELY") if f"{name}(" in body]
        checks = [name for name in ("AOTI_TORCH_CHECK", "TORCH_CHECK") if re.search(rf"\b{name}\(", body)]
        return [*lines, *(f"#define {name}(...)" for name in checks), ""]

    def _parts(self, body: str, used: set[str]) -> list[str]:
        """What stands for the parts of PyTorch's headers that the body calls."""
        vectors = [f"constexpr int LANES = {_lanes(body)};", _vectors(used)] if "vec::" in body else []
        scalars = (PARTS / "scalars.cpp.txt").read_text(encoding="utf-8").rstrip("\n")
        return [*vectors, *([scalars] if "propagate_nan(" in body or "ascade" in body else [])]

    def _entry(self) -> str:
        parameters = [f"const {MEMORY[spec.dtype]}* {name}" for name, spec in self.arguments.items()]
        parameters += [f"{MEMORY[o.dtype]}* out{n}" for n, o in enumerate(self.task.workload.outputs)]
        parameters += ["void* workspace"] * bool(self.workspace)
        lines = [f'extern "C" void {self.name}(' + ", ".join(parameters) + ") {"]
        start = 0
        for buffer in self.workspace:
            kind = MEMORY[_dtype(buffer)]
            lines.append(
                f"  {kind}* const {buffer.name} = reinterpret_cast<{kind}*>(static_cast<char*>(workspace) + {start});"
            )
            start += _nbytes(buffer)
        lines += [self._call(step) for step in self.wrapper.steps if isinstance(step, Launch)]
        lines += [f"  std::memcpy({name}, {self._pointer(root)}, {nbytes});" for name, root, nbytes in self.copies]
        return "\n".join([*lines, "}"])

    def _call(self, step: Launch) -> str:
        given = []
        for value, kind in zip(step.arguments, self.wrapper.kernels[step.kernel].types, strict=True):
            known = isinstance(value, View) or value in self.arguments or value in self.buffers or value in self.views
            root = self._root(value) if known else None
            if root is not None and root.pointer in self.arguments and kind.endswith("*") and "const" not in kind:
                raise UnreadableError(f"it writes to the argument {root.pointer}")
            pointer = self._pointer(root) if root is not None else str(value)
            # What the entry has as bytes, the kernel has as bool.
            given.append(f"reinterpret_cast<{kind}>({pointer})" if "bool" in kind and kind.endswith("*") else pointer)
        return f"  {step.kernel}({', '.join(given)});"


def _kernel(kernel: KernelText) -> str:
    """A kernel's function under its own name, on what `parts/` has.

    Raises:
        UnreadableError: it calls something else.
    """
    if kernel.language != "cpp":
        raise UnreadableError(f"a kernel in {kernel.language}")
    lines = [line for line in kernel.text.strip("\n").splitlines() if not line.startswith("#include")]
    text = "\n".join(line for line in lines if "inductor_cpu_" not in line)
    text, count = re.subn(r'extern "C"\s+void\s+kernel\(', f"static void {kernel.name}(", text)
    if count != 1:
        raise UnreadableError(f"{kernel.name} is no single function")
    if "double" not in text:
        text = re.sub(rf"\bstd::({'|'.join(MAPPED)})\(", r"fast::\1(", text)
    text = text.replace("c10::convert<", "static_cast<")
    text = text.replace("at::vec::", "vec::").replace("__at_align__ ", "alignas(64) ")
    _must_be_known(text, kernel.name)
    return text


def _must_be_known(text: str, own: str) -> None:
    for scope, name in _CALLED.findall(text):
        short = name.lstrip(".:")
        if scope in ("vec::", "at::vec::") and short in VECTORS:
            continue
        known = {"": PLAIN | {own}, "std::": STANDARD | {"make_unique"}, "fast::": set(MAPPED)}.get(scope, set())
        if name.startswith((".", "::")):
            known = METHODS | LIMITS
        if short not in known and not re.fullmatch(r"(scalar_|masked_)?cascade_helper\d+", short):
            raise UnreadableError(f"the call of {scope}{name} in {own}")
    for other in (
        "int64_t,2>",
        "VectorizedN",
        "Half",
        "BFloat16",
        "Welford",
        "c10::",
        "IndexValue",
        "<int32_t",
        "<bool",
    ):
        if other in text:
            raise UnreadableError(f"{other} in {own}")


def _lanes(body: str) -> int:
    found = {int(a) for a in re.findall(r"loadu\([^;]*?static_cast<int64_t>\((\d+)\)\)", body)}
    if len(found) != 1 or not found <= {4, 8, 16}:
        raise UnreadableError(f"vectors of {sorted(found)} lanes")
    return found.pop()


def _vectors(used: set[str]) -> str:
    text = (PARTS / "vectors.cpp.txt").read_text(encoding="utf-8").rstrip("\n")
    lines = [
        f"Vectorized {name}() const {{ return each([](float x) {{ return fast::{name}(x); }}); }}"
        for name in sorted(used)
    ]
    return text.replace("//FUNCTIONS", "\n  ".join(lines)).replace("  \n}", "}")


def _dtype(buffer: Buffer) -> DType:
    if buffer.dtype not in ITEM_BYTES:
        raise UnreadableError(f"a buffer of {buffer.dtype}")
    return buffer.dtype


def _nbytes(buffer: Buffer, *, exact: bool = False) -> int:
    """Bytes of a buffer; rounded up, as it lies in the workspace."""
    reach = 1 + sum((size - 1) * step for size, step in zip(buffer.shape, buffer.stride, strict=True))
    nbytes = ITEM_BYTES[_dtype(buffer)] * (0 if 0 in buffer.shape else reach)
    return nbytes if exact else aligned(nbytes)
