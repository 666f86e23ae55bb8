"""Reads a kernel that a person or a model wrote, from a file or a text. Nothing is run.

The language follows from the ending and the text (`languages.py`). In C++ the entry is the `extern "C"` definition.
"""

from pathlib import Path

from kernelwright.errors import TaskError, UsageError
from kernelwright.languages import Language, language, language_of, languages, likely_suffix, suffixes
from kernelwright.records.candidate import Candidate
from kernelwright.tasks.declared import with_declared, workspace_in
from kernelwright.tasks.recipe_text import read_plan
from kernelwright.tasks.text import read_text


def read_kernel(path: Path, entry: str | None = None, workspace_bytes: int = 0) -> Candidate:
    """The kernel in a file.

    Raises:
        TaskError: the file cannot be read.
        UsageError: as `parse_kernel`, naming the file.
    """
    if path.suffix not in suffixes():
        raise UsageError(f"kernel {str(path)!r}: the ending must be one of {', '.join(suffixes())}")
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
    found = language_of(source, suffix)
    if found.form == "plan":
        plan = read_plan(source)
        return Candidate(
            language=found.name,
            source=source,
            entry=plan.recipe.launches[0].kernel,
            flags=plan.flags,
            tunables=plan.tunables,
            recipe=plan.recipe,
        )
    name = entry or (_entry(source, found) if found.form == "function" else found.entry)
    return Candidate(language=found.name, source=source, entry=name, workspace_bytes=workspace_bytes)


def parse_text(source: str, kind: str, named: str | None = None) -> Candidate:
    """The kernel in a text without a file, for a kind of device; its language is the named one, or what the text says.

    Tunables, workspace and flags are what the text declares in comments (`tasks.declared`). In C++ the entry is the
    function named `kernel` where several could be it.

    Raises:
        UsageError: as `parse_kernel`; or the text is empty or binary.
    """
    if not source.strip():
        raise UsageError("the kernel's source is empty: give the whole file")
    if not is_text(source):
        raise UsageError("the kernel's source holds characters that no source has (NUL or lone surrogates)")
    suffix = language(named).suffix if named else likely_suffix(source, kind)
    told = language_of(source, suffix)
    entry = told.entry if told.form == "function" and told.entry in told.functions(source) else None
    try:
        found = parse_kernel(source, suffix, entry, workspace_in(source, told))
    except UsageError as error:
        raise UsageError(str(error).replace("name the right one with --entry NAME", "call it `kernel`")) from None
    return with_declared(found if named in (None, told.name) else _as(found, language(named)))


def is_text(source: str) -> bool:
    """Whether a compiler could be given this: no NUL, and nothing that UTF-8 cannot say."""
    return "\0" not in source and not any("\ud800" <= character <= "\udfff" for character in source)


def _as(found: Candidate, named: Language) -> Candidate:
    """The same text under the contract that its author named."""
    if language(found.language).form == named.form == "module":
        return found.model_copy(update={"language": named.name})
    sharing = [each for each in languages() if each.suffix == named.suffix]
    told = ", ".join(f"a `{each.name}` source has {each.told_by}" for each in sharing)
    raise UsageError(f"the source reads as {found.language}, not {named.name}: {told}")


def _entry(source: str, written: Language) -> str:
    names = written.functions(source)
    if len(names) == 1:
        return names[0]
    found = f"{len(names)} such functions ({', '.join(names)})" if names else "none"
    raise UsageError(
        f"it must define one function `{f'{written.linkage} void NAME(...)'.strip()}`, it has {found}: "
        "name the right one with --entry NAME"
    )
