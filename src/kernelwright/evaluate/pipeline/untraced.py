"""Why a reference raised or could not be traced, in words: the author's line, and no frames of PyTorch's.

What torch.export cannot trace PyTorch may well run. Such a task is judged without a graph, and its one operation says why.
"""

import re

from kernelwright.records.graph import UNTRACED, Argument, OpGraph
from kernelwright.records.task import TaskSource

LAST_LINES = 6
_FRAME = re.compile(r'^  File "<task>", line (\d+)', re.MULTILINE)
_SHAPES = {"ShapeOfValuesError", "DynamicOutputShapeException", "PendingUnbackedSymbolNotFound"}
_GUARDS = {"GuardOnDataDependentSymNode", "DataDependentOutputException"}
_OF_VALUES = re.compile(r"data[- ]dependent|dynamic (?:control flow|shape)|allocated is None|FakeTensor", re.IGNORECASE)
_ADVICE = re.compile(
    r"TORCH_LOGS|TORCHDYNAMO_|torch\.export\.draft_export|draft_export\(\)|For more debugging help|For more details about this"
    r"|guard_or_false|^User Stack|^\s+\(snipped, see stack|^The following call raised this error|^  File \""
)
"""Lines in which PyTorch says how its own developers would look further."""


def with_reason(graph: OpGraph, why: str) -> OpGraph:
    """A graph of one operation that says why there is no other."""
    said = Argument(name="why", value=why)
    nodes = (n.model_copy(update={"arguments": (*n.arguments, said)}) if n.op == UNTRACED else n for n in graph.nodes)
    return graph.model_copy(update={"nodes": tuple(nodes)})


def untraced_words(source: TaskSource, name: str, log: str) -> str:
    """Why torch.export cannot trace a reference that has run, from the exception that it ended in."""
    told, place = "torch.export cannot trace it", place_of(source, log)
    where = f",{place}" if place else ""
    if name in _SHAPES:
        return f"{told}: the shape of a tensor depends on values{where}"
    if name in _GUARDS or _OF_VALUES.search(log):
        return f"{told}: its control flow or a number in Python depends on values{where}"
    return f"{told}{where}: {exception_of(name, log)}"


def place_of(source: TaskSource, log: str) -> str:
    """Such as ` in line 7 (return x @ y)`: the innermost line of the author's own file."""
    frames = _FRAME.findall(log)
    lines = source.source.splitlines()
    if not frames or not 0 < int(frames[-1]) <= len(lines):
        return ""
    return f" in line {frames[-1]} ({lines[int(frames[-1]) - 1].strip()[:120]})"


def exception_of(name: str, log: str) -> str:
    """The exception with its message, without the frames above it and PyTorch's advice below it."""
    lines = [line for line in log.strip().splitlines() if not _ADVICE.search(line)]
    named = re.compile(rf"(?:\w+\.)*{re.escape(name)}(?::|$)")
    if starts := [i for i, line in enumerate(lines) if named.match(line)]:
        return "\n".join([line for line in lines[starts[-1] :] if line.strip()][:LAST_LINES])
    first = max((i for i, line in enumerate(lines) if line.startswith(" ")), default=-1)
    return "\n".join((lines[first + 1 :] or lines)[-LAST_LINES:])
