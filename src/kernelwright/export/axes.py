"""What a source over a task's axes is at some of their sizes: macros, bytes of workspace, and whether PyTorch serves them.

The referee compiles it with these, and so does a drop-in, for each of the task's workloads.
"""

import re
from collections.abc import Mapping

from kernelwright.languages import language
from kernelwright.records.candidate import ORIGINAL, WORKSPACE, Candidate, Define
from kernelwright.records.expression import holds, worth


def macros(candidate: Candidate, sizes: Mapping[str, int]) -> tuple[Define, ...]:
    """The axes that a source names, such as `AXIS_BATCH`; none of a module, which sees the sizes of a call."""
    if language(candidate.language).form == "module":
        return ()
    named = {f"AXIS_{name.upper()}": size for name, size in sizes.items()}
    return tuple(Define(name=n, value=v) for n, v in named.items() if re.search(rf"\b{n}\b", candidate.source))


def workspace(candidate: Candidate, sizes: Mapping[str, int]) -> int:
    """Bytes of workspace: of several lines the largest, and the candidate's own where no line says."""
    told = re.findall(rf"(?m)^{WORKSPACE}(.+)$", candidate.source)
    return max((_bytes(line, sizes) for line in told), default=candidate.workspace_bytes)


def leaves(candidate: Candidate, sizes: Mapping[str, int]) -> bool:
    """Whether the text leaves these sizes to PyTorch's own operation."""
    return any(_holds(text, sizes) for text in re.findall(rf"(?m)^(?://|#) {ORIGINAL}(.+)$", candidate.source))


def _bytes(expression: str, sizes: Mapping[str, int]) -> int:
    """None where a text says what is no number of the sizes."""
    try:
        return max(0, worth(expression, sizes))
    except ValueError:
        return 0


def _holds(comparison: str, sizes: Mapping[str, int]) -> bool:
    try:
        return holds(comparison, sizes)
    except ValueError:
        return False
