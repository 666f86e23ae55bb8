"""Reads a kernel that a person wrote: a `.cpp` or `.py` file becomes a Candidate. Nothing is run.

Decides the language by the ending and, in C++, the entry by its `extern "C"` definition.
"""

import re
from pathlib import Path

from kernelwright.errors import TaskError, UsageError
from kernelwright.records.candidate import Candidate, Language
from kernelwright.tasks.text import read_text

_LANGUAGES: dict[str, Language] = {".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".py": "triton"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_EXTERN = re.compile(r'extern\s*"C"\s*[\w\s*]*?\b(\w+)\s*\(')


def read_kernel(path: Path, entry: str | None = None, workspace_bytes: int = 0) -> Candidate:
    """The kernel in a file.

    Raises:
        TaskError: the file cannot be read.
        UsageError: the ending is unknown, or the entry cannot be told and `entry` is None.
    """
    language = _LANGUAGES.get(path.suffix)
    if language is None:
        raise UsageError(f"kernel {str(path)!r}: the ending must be one of {', '.join(_LANGUAGES)}")
    source = read_text(path, "kernel")
    if not source.strip():
        raise TaskError(f"kernel {str(path)!r} is empty")
    name = entry or ("ModelNew" if language == "triton" else _entry(source, path))
    return Candidate(language=language, source=source, entry=name, workspace_bytes=workspace_bytes)


def _entry(source: str, path: Path) -> str:
    names: list[str] = sorted(set(_EXTERN.findall(_COMMENT.sub(" ", source))))
    if len(names) == 1:
        return names[0]
    found = f"{len(names)} such functions ({', '.join(names)})" if names else "none"
    raise UsageError(
        f'kernel {str(path)!r} must define one function `extern "C" void NAME(...)`, it has {found}: '
        "name the right one with --entry NAME"
    )
