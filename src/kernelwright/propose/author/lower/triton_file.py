"""A program as a Triton module: its kernels, the function that launches them, and a drop-in `ModelNew`.

Its kernels are for the task's own shapes. `ModelNew` inherits from the reference, and calls it for everything else.
"""

import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Sequence

from kernelwright.errors import ProposeError
from kernelwright.export.reference import Reference, fits_exactly, reference
from kernelwright.propose.author.emit.scope import Writer
from kernelwright.propose.author.emit.triton_file import HELPERS, IMPORTS, INTERPRETED, triton_file, tunable_warps
from kernelwright.propose.author.families.family import Family, Text
from kernelwright.propose.author.ir.program import Kept, Kernel, Program, Tensor
from kernelwright.propose.author.lower.schedules import Schedules
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.graph import Infinity, Ref
from kernelwright.records.graph import Value as Literal
from kernelwright.records.task import Task

_NAME = re.compile(r"^def (\w+)\(", re.MULTILINE)
_COMMON = frozenset({*HELPERS, *keyword.kwlist, *dir(builtins), "tl", "triton"})
"""Names that mean the same in every kernel."""


def write_program(task: Task, program: Program, families: Sequence[Family], schedule: Record) -> Candidate:
    """The program as a candidate.

    Raises:
        ProposeError: the task's source has names that the file needs.
    """
    schedules = Schedules(program, families)
    if family := schedules.claimed:
        claimed: Candidate = family.write(task, program.kernels[0].plan, schedules.of(schedule, 0))
        return claimed
    module = _Module(task, program, schedules, schedule)
    text = module.text()
    warps = module.constants.get("WARPS")
    tunables = [tunable_warps(warps)] if warps else []
    return Candidate(language="triton", source=text, tunables=tuple(tunables))


def _each_once(texts: Sequence[Text]) -> list[Text]:
    """Kernels that are one but for names stand in the file once, and are called with other tensors."""
    known: dict[tuple[str, ...], str] = {}
    found = list[Text]()
    for text in texts:
        name = _NAME.search(text.kernel)
        first = known.setdefault(_shape_of(text.kernel), name[1]) if name else ""
        if name and first != name[1]:
            text = text._replace(kernel="", launch=[re.sub(rf"\b{name[1]}\b", first, line) for line in text.launch])
        found.append(text)
    return found


def _shape_of(kernel: str) -> tuple[str, ...]:
    """The kernel's tokens, with numbers in place of the names that are its own."""
    numbers: dict[str, str] = {}
    tokens, after = list[str](), ""
    for token in tokenize.generate_tokens(io.StringIO(kernel).readline):
        own = token.type == tokenize.NAME and after != "." and token.string not in _COMMON
        tokens.append(numbers.setdefault(token.string, f"#{len(numbers)}") if own else token.string)
        after = token.string
    return tuple(tokens)


class _Module:
    """One module in the making."""

    def __init__(self, task: Task, program: Program, schedules: Schedules, schedule: Record) -> None:
        self.task = task
        self.program = program
        self.found: Reference = reference(task.source.source)
        many = len(program.kernels) > 1
        self.texts: list[Text] = []
        for number, kernel in enumerate(program.kernels):
            name, prefix = (f"_kernel{number}", f"K{number}_") if many else ("_kernel", "")
            given = schedules.of(schedule, number)
            self.texts.append(schedules.family(kernel).write(kernel.plan, given, name, prefix))
        self.texts = _each_once(self.texts)
        self.constants = {name: value for text in self.texts for name, value in text.constants.items()}
        if not program.arguments:
            raise ProposeError(f"{task.name!r} has no tensor to work on")
        self.first = program.arguments[0].identifier

    def text(self) -> str:
        helpers = {name for text in self.texts for name in text.helpers}
        parts = [
            self._settings(),
            *(HELPERS[name] for name in HELPERS if name in helpers),
            *(text.kernel for text in self.texts),
            self._run(),
            self._fits(),
        ]
        imports = (*IMPORTS, "from triton.tools.tensor_descriptor import TensorDescriptor")
        return triton_file(
            self.task, self.found, self._idea(), parts, {*helpers, *self.constants},
            imports=imports if "_map" in helpers else IMPORTS,
        )  # fmt: skip

    def _idea(self) -> str:
        kernels = len(self.texts)
        said = "one kernel" if kernels == 1 else f"{kernels} kernels"
        kept = [step.node.op for step in self.program.kept]
        rest = f" around {', '.join(kept)}" if kept else ""
        rules = f" By algebra: {', '.join(self.program.rules)}." if self.program.rules else ""
        return f"{said}{rest}, in Triton.{rules}"

    def _settings(self) -> str:
        lines = [f"{name} = {value}" for name, value in self.constants.items()]
        return "\n".join([*lines, INTERPRETED])

    def _run(self) -> str:
        w = Writer("    ")
        arguments = [t.identifier for t in self.program.arguments]
        read = {t.identifier for kernel in self.program.kernels for t in kernel.part.reads}
        w.line("@torch.compiler.disable")
        with w.block(f"def _run({', '.join(arguments)}):"):
            w.line('"""Run the program on tensors that fit."""')
            for tensor in self.program.arguments:
                if tensor.shape and tensor.identifier in read:
                    w.line(f"{tensor.identifier} = {tensor.identifier}.contiguous()")
            with w.block(f"with torch.cuda.device_of({self.first}):"):
                self._steps(w)
                after = self.program.outputs[len(self.program.results) :]
                for tensor, new in zip(self.program.state, after, strict=True):
                    w.line(f"{tensor.identifier}.copy_({new.identifier})")
            w.line(f"return {', '.join(t.identifier for t in self.program.results)}")
        return w.text()

    def _steps(self, w: Writer) -> None:
        texts = iter(self.texts)
        for step in self.program.steps:
            if isinstance(step, Kernel):
                for root in step.part.roots:
                    w.line(self._made(root.tensor, "zeros" if root.scatter else "empty"))
                for line in next(texts).launch:
                    w.line(line)
            else:
                self._call(w, step)

    def _made(self, tensor: Tensor, how: str) -> str:
        where = f"dtype=torch.{tensor.dtype}, device={self.first}.device"
        return f"{tensor.identifier} = torch.{how}({tensor.shape!r}, {where})"

    def _call(self, w: Writer, step: Kept) -> None:
        """PyTorch's own operation."""
        given = [f"{a.name}={self._spelled(a.name, a.value, step)}" for a in step.node.arguments]
        call = f"torch.ops.{step.node.op}({', '.join(given)})"
        names = [t.identifier for t in step.results]
        w.line(f"{', '.join(names)} = {call}")
        for name in names:
            w.line(f"{name} = {name}.contiguous()")

    def _spelled(self, name: str, value: Literal, step: Kept) -> str:
        match value:
            case Ref():
                return step.inputs[value.ref].identifier
            case Infinity():
                return f'{"-" * (value.infinity < 0)}float("inf")'
            case tuple():
                return f"[{', '.join(self._spelled(name, item, step) for item in value)}]"
            case "nan":
                return 'float("nan")'
            case str() if name == "device":
                return f"{self.first}.device"
            case str() if name in ("dtype", "layout", "memory_format"):
                return f"torch.{value}"
        return repr(value)

    def _fits(self) -> str:
        arguments = self.program.arguments
        return fits_exactly(
            [t.identifier for t in arguments],
            [t.shape for t in arguments],
            [t.dtype for t in arguments],
            dense=[t.identifier for t in self.program.state],
        )
