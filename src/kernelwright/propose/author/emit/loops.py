"""Kernels of loops in C++: each axis has a letter, threads share the outermost loops, and elements lie where positions say."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from kernelwright.propose.author.emit.cpp import START as FLOAT_START
from kernelwright.propose.author.emit.cpp import TYPES, CppScope, from_memory, to_memory
from kernelwright.propose.author.emit.scope import Names, Writer
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index
from kernelwright.propose.author.ir.positions import flattened
from kernelwright.propose.author.ir.program import Part, Root


class Planned(Protocol):
    """A family's own record."""

    @property
    def part(self) -> Part:
        """What the kernel makes."""
        ...


P = TypeVar("P", bound=Planned)
S = TypeVar("S")
LETTERS = "ijklmnpqrstuvw"
START = {"prod": "1.0f", **FLOAT_START}
WHOLE_START = {"sum": "0", "max": "INT64_MIN", "min": "INT64_MAX", "prod": "1"}
JOIN = {"sum": "{0} + {1}", "prod": "{0} * {1}", "max": "fast::max({0}, {1})", "min": "fast::min({0}, {1})",
        "amax": "fast::maximum({0}, {1})", "amin": "fast::minimum({0}, {1})"}  # fmt: skip


class LoopScope(CppScope):
    """One block of loops."""

    def element(self, node: Element) -> str:
        """An array element; zero where a condition does not hold."""
        tensor = self.plan.argument(node)
        place = self._text(flattened(node.index, node.sizes))
        text = from_memory(tensor.dtype, f"{tensor.identifier}[{place}]")
        if node.inside is None:
            return text
        zero = "0.0f" if node.kind == "float" else "false" if node.kind == "bool" else "0"
        return f"({self._text(node.inside)} ? {text} : {zero})"

    def _text(self, node: Expr) -> str:
        match node:
            case Call(op="where", args=(condition, Element() as read, Const(value=0.0))) if read.inside == condition:
                return super()._text(read)
        return super()._text(node)


@dataclass
class Loops(Generic[P, S]):
    """Writes one kernel into the program's function, in a scope of its own."""

    plan: P
    schedule: S
    writer: Writer
    names: Names
    room: str = ""
    """The identifier of the kernel's workspace."""

    WORDS: ClassVar[frozenset[str]] = frozenset()
    """Identifiers of the kernel's frame."""

    def __post_init__(self) -> None:
        self.part, self.sizes = self.plan.part, self.plan.part.sizes
        self.whole, self.letter = TYPES["int"], dict[int, str]()
        """The type of positions, and each axis's letter."""

    @classmethod
    def write_into(cls) -> Callable[[Any, Any, Writer, set[str], str], None]:
        """What `Family.write` is for kernels of this class."""

        def write(plan: Any, schedule: Any, writer: Writer, taken: set[str], room: str) -> None:  # noqa: ANN401
            cls(plan, schedule, writer, Names({*taken, *cls.WORDS}), room).write()

        return write

    def write(self) -> None:
        """The whole kernel."""
        raise NotImplementedError

    def name_axes(self, axes: Sequence[int], letters: str = LETTERS, spare: str = "axis") -> None:
        """Give each axis a letter that is free; the `spare` name with a number where there are no more."""
        for axis in axes:
            free = next((letter for letter in letters if letter not in self.names.taken), spare)
            self.letter[axis] = self.names.values[Index(axis).key] = self.names.fresh(free)

    def head(self, axis: int) -> str:
        """The head of a loop along an axis."""
        return self.count(self.letter[axis], str(self.sizes[axis]))

    def count(self, name: str, end: str, begin: str = "0", step: int | str = 1) -> str:
        """The head of a loop that counts up."""
        further = f"++{name}" if step == 1 else f"{name} += {step}"
        return f"for ({self.whole} {name} = {begin}; {name} < {end}; {further})"

    @contextmanager
    def loop(self, head: str, *, vector: bool = False) -> Iterator[None]:
        """A loop's body; `vector`: its steps go side by side in the lanes of vectors."""
        if vector:
            self.writer.pragma("#pragma omp simd")
        with self.writer.block(f"{head} {{", "}"):
            yield

    @contextmanager
    def nest(self, heads: Sequence[str], *clauses: str) -> Iterator[None]:
        """The body of loops that threads share, with nothing between them; without any loop a block."""
        if heads:
            collapse = f" collapse({len(heads)})" if len(heads) > 1 else ""
            self.writer.pragma(f"#pragma omp parallel for{collapse}", *clauses)
        with ExitStack() as stack:
            for head in heads[:-1]:
                stack.enter_context(self.writer.block(head))
            stack.enter_context(self.writer.block(" ".join([*heads[-1:], "{"]), "}"))
            yield

    def scope(self, names: Names, *, lane: bool = True) -> LoopScope:
        """A block in which expressions are written; `lane`: of vector code."""
        return LoopScope(self.part, self.writer, names, index="lane" if lane else None, whole=self.whole)

    def store(self, root: Root, names: Names) -> None:
        """Store one element of a root."""
        text, place = self.scope(names).write([root.expr, flattened(*root.position(self.sizes))])
        self.writer.line(f"{root.tensor.identifier}[{place}] = {to_memory(root.tensor.dtype, text)};")
