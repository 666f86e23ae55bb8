"""What a kernel's text declares in comments, a line each: `tunable NAME: 1 2 3`, `workspace: BYTES`, `flags: -f…`.

A tunable must really be left open: a macro under `#ifndef` in C++, a module's integer in Triton. A launch plan (`cuda`)
declares its own. Nothing is run.
"""

import re

from kernelwright.records.candidate import Candidate, Language, Tunable

_TUNABLE = re.compile(r"^[ \t]*(?://|#)[ \t]*tunable[ \t]+(\w+)[ \t]*[:=][ \t]*([-\d][-\d, \t]*)$", re.MULTILINE)
_WORKSPACE = re.compile(r"^[ \t]*//[ \t]*workspace[ \t]*[:=][ \t]*(\d{1,12})\b", re.MULTILINE)
_FLAGS = re.compile(r"^[ \t]*//[ \t]*flags[ \t]*[:=][ \t]*(-\S+(?:[ \t]+-\S+)*)[ \t]*$", re.MULTILINE)
MOST_TUNABLES, MOST_VALUES = 4, 16


def workspace_in(source: str, language: Language) -> int:
    """Bytes of scratch memory that a C++ source asks for; 0 where it asks for none."""
    found = _WORKSPACE.search(source) if language == "cpp" else None
    return int(found[1]) if found else 0


def with_declared(candidate: Candidate) -> Candidate:
    """The candidate with the tunables and flags that its source declares."""
    if candidate.recipe is not None:
        return candidate
    flags = _FLAGS.search(candidate.source) if candidate.language == "cpp" else None
    update = {"tunables": _tunables(candidate), "flags": tuple(flags[1].split()) if flags else ()}
    return candidate.model_copy(update=update)


def _tunables(candidate: Candidate) -> tuple[Tunable, ...]:
    """Declared constants that the source really leaves open, each with its default first."""
    found = {}
    for name, listed in _TUNABLE.findall(candidate.source):
        default = _default(candidate.source, candidate.language, name)
        values = [int(v) for v in re.findall(r"-?\d+", listed)]
        if default is not None and values:
            found[name] = Tunable(name=name, values=tuple(dict.fromkeys([default, *values]))[:MOST_VALUES])
    return tuple(found.values())[:MOST_TUNABLES]


def _default(source: str, language: Language, name: str) -> int | None:
    if language == "triton":
        match = re.search(rf"^{name}[ \t]*(?::[^=\n]+)?=[ \t]*(-?\d+)[ \t]*(?:#[^\n]*)?$", source, re.MULTILINE)
    elif language == "cpp":
        match = re.search(
            rf"#[ \t]*ifndef[ \t]+{name}\b[^\n]*\n\s*#[ \t]*define[ \t]+{name}[ \t]+\(?(-?\d+)\)?", source
        )
    else:
        match = None
    return int(match[1]) if match else None
