"""Reads a kernel that a person or a model wrote: a `.cpp`, `.cu` or `.py` file, or a text. Nothing is run.

The language follows from the ending, and within `.cu` and `.py` from what the file says (a launch plan; an extension
that it builds itself). In C++ the entry is its `extern "C"` definition.
"""

import re
from itertools import islice
from pathlib import Path
from typing import Literal

from kernelwright.errors import TaskError, UsageError
from kernelwright.records.candidate import SUFFIXES, Candidate, Language
from kernelwright.tasks.declared import with_declared, workspace_in
from kernelwright.tasks.recipe_text import has_plan, read_plan
from kernelwright.tasks.text import read_text

_SUFFIXES = (".cpp", ".cc", ".cxx", ".cu", ".py")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_EXTERN = re.compile(r'extern\s*"C"\s*([\w\s*]*?)\b(\w+)\s*\(')
_BLOCK = re.compile(r'extern\s*"C"\s*\{')
_FUNCTION = re.compile(r"(?<![\w\s*])([\w\s*]++)\([^(){};]*\)\s*\{")
_EXTENSION = re.compile(r"\b(?:load_inline|cpp_extension)\b")
MOST_BLOCKS = 16
"""Blocks `extern "C" { … }` of a text that are looked into."""
_HASH_COMMENT = re.compile(r"#[^\n]*")


def read_kernel(path: Path, entry: str | None = None, workspace_bytes: int = 0) -> Candidate:
    """The kernel in a file.

    Raises:
        TaskError: the file cannot be read.
        UsageError: as `parse_kernel`, naming the file.
    """
    if path.suffix not in _SUFFIXES:
        raise UsageError(f"kernel {str(path)!r}: the ending must be one of {', '.join(_SUFFIXES)}")
    source = read_text(path, "kernel")
    if not source.strip():
        raise TaskError(f"kernel {str(path)!r} is empty")
    try:
        return parse_kernel(source, path.suffix, entry, workspace_bytes)
    except UsageError as error:
        raise UsageError(f"kernel {str(path)!r}: {error}") from None


def parse_kernel(source: str, suffix: str, entry: str | None = None, workspace_bytes: int = 0) -> Candidate:
    """The kernel in a text, read as a file of that ending.

    Raises:
        UsageError: its launch plan cannot be read, or the entry cannot be told and `entry` is None.
    """
    language = language_of(source, suffix)
    if language in ("triton", "python"):
        name = entry or "ModelNew"
        return Candidate(language=language, source=source, entry=name, workspace_bytes=workspace_bytes)
    if language == "cuda":
        plan = read_plan(source)
        return Candidate(
            language=language,
            source=source,
            entry=plan.recipe.launches[0].kernel,
            flags=plan.flags,
            tunables=plan.tunables,
            recipe=plan.recipe,
        )
    name = entry or _entry(source, suffix)
    return Candidate(language=language, source=source, entry=name, workspace_bytes=workspace_bytes)


def parse_text(source: str, target: Literal["cpu", "cuda"], language: Language | None = None) -> Candidate:
    """The kernel in a text without a file; what the caller does not name is told by the target and the text.

    Tunables, workspace and flags are what the text declares in comments (`tasks.declared`).

    In C++ the entry is the function named `kernel` where several could be it.

    Raises:
        UsageError: as `parse_kernel`; or the text is empty or binary.
    """
    if not source.strip():
        raise UsageError("the kernel's source is empty: give the whole file")
    if not is_text(source):
        raise UsageError("the kernel's source holds characters that no source has (NUL or lone surrogates)")
    suffix = SUFFIXES[language] if language else _likely_suffix(source, target)
    entry = "kernel" if suffix in (".cpp", ".cu") and "kernel" in _host_functions(source) else None
    try:
        found = parse_kernel(source, suffix, entry, workspace_in(source, language_of(source, suffix)))
    except UsageError as error:
        raise UsageError(str(error).replace("name the right one with --entry NAME", "call it `kernel`")) from None
    return with_declared(found if language in (None, found.language) else _as(found, language))


def is_text(source: str) -> bool:
    """Whether a compiler could be given this: no NUL, and nothing that UTF-8 cannot say."""
    return "\0" not in source and not any("\ud800" <= character <= "\udfff" for character in source)


def _likely_suffix(source: str, target: Literal["cpu", "cuda"]) -> str:
    if target == "cpu":
        return ".cpp"
    python = re.search(r"^\s*(?:import|from)\s+\w+|^class\s+ModelNew\b", source, re.MULTILINE)
    return ".py" if python and not has_plan(source) else ".cu"


def _as(found: Candidate, language: Language) -> Candidate:
    """The same text under the contract that its author named."""
    if {found.language, language} == {"triton", "python"}:
        return found.model_copy(update={"language": language})
    raise UsageError(
        f"the source reads as {found.language}, not {language}: a `cuda` source has a launch plan in a comment, "
        'a `cuda_host` source has an extern "C" host function and no plan'
    )


def language_of(source: str, suffix: str) -> Language:
    """Which contract a source follows."""
    if suffix == ".py":
        return "python" if _EXTENSION.search(_HASH_COMMENT.sub("", source)) else "triton"
    if suffix == ".cu":
        return "cuda" if has_plan(source) or not _host_functions(source) else "cuda_host"
    return "cpp"


def _host_functions(source: str) -> list[str]:
    """Names with C linkage that are not device code, whether they have the linkage alone or in a block."""
    code = _COMMENT.sub(" ", source)
    blocks = [_outline(code[opening.end() :]) for opening in islice(_BLOCK.finditer(code), MOST_BLOCKS)]
    found = [*_EXTERN.findall(code), *(function for block in blocks for function in _functions(block))]
    return sorted({name for before, name in found if not re.search(r"__(?:global|device)__", before)})


def _functions(outline: str) -> list[tuple[str, str]]:
    """What stands before the arguments of each function, and its name, the last word of that."""
    heads = ((head, re.split(r"[\s*]", head.rstrip())[-1]) for head in _FUNCTION.findall(outline))
    return [(head, name) for head, name in heads if name]


def _outline(code: str) -> str:
    """What stands in a block, without the bodies in it: up to the brace that closes it."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", code):
        if depth == 0:
            kept.append(part)
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth < 0:
            break
    return "".join(kept)


def _entry(source: str, suffix: str) -> str:
    names = _host_functions(source)
    if len(names) == 1:
        return names[0]
    found = f"{len(names)} such functions ({', '.join(names)})" if names else "none"
    raise UsageError(
        f'it must define one function `extern "C" void NAME(...)`, it has {found}: name the right one with --entry NAME'
    )
