"""What a kernel's text declares in comments, a line each: `tunable NAME: 1 2 3`, `workspace: BYTES`, `flags: -f…`.

A language says which of these it has, how a comment begins, and where the constant stands that a source leaves open. A launch
plan declares its own. Nothing is run.
"""

import re

from kernelwright.languages import Declarations, Language, language
from kernelwright.records.candidate import Candidate, Tunable

_TUNABLE = r"(?m)^[ \t]*{}[ \t]*tunable[ \t]+(\w+)[ \t]*[:=][ \t]*([-\d][-\d, \t]*)$"
_WORKSPACE = r"(?m)^[ \t]*{}[ \t]*workspace[ \t]*[:=][ \t]*(\d{{1,12}})\b"
_FLAGS = r"(?m)^[ \t]*{}[ \t]*flags[ \t]*[:=][ \t]*(-\S+(?:[ \t]+-\S+)*)[ \t]*$"
MOST_TUNABLES, MOST_VALUES = 4, 16


def workspace_in(source: str, written: Language) -> int:
    """Bytes of scratch memory that a source asks for; 0 where it asks for none."""
    declares = written.declares
    found = re.search(_WORKSPACE.format(declares.comment), source) if declares and declares.workspace else None
    return int(found[1]) if found else 0


def with_declared(candidate: Candidate) -> Candidate:
    """The candidate with the tunables and flags that its source declares."""
    declares = language(candidate.language).declares
    if candidate.recipe is not None or declares is None:
        return candidate
    flags = re.search(_FLAGS.format(declares.comment), candidate.source) if declares.flags else None
    tunables = _tunables(candidate.source, declares)
    return candidate.model_copy(update={"tunables": tunables, "flags": tuple(flags[1].split()) if flags else ()})


def _tunables(source: str, declares: Declarations) -> tuple[Tunable, ...]:
    """Declared constants that the source really leaves open, each with its default first."""
    found = {}
    for name, listed in re.findall(_TUNABLE.format(declares.comment), source):
        default = re.search(declares.tunable.replace("NAME", name), source)
        values = [int(v) for v in re.findall(r"-?\d+", listed)]
        if default is not None and values:
            found[name] = Tunable(name=name, values=tuple(dict.fromkeys([int(default[1]), *values]))[:MOST_VALUES])
    return tuple(found.values())[:MOST_TUNABLES]
