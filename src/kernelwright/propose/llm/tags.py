"""Removes XML tags and CDATA around a source, as models write them that were told of files.

Only tags with the names in `NAMES` go, at the source's beginning and at its end.
"""

import re

NAMES = ("kernel", "code", "source", "answer", "solution", "response", "output", "file", "kernel_code", "new_code")
BEGIN = rf"(?:<!\[CDATA\[|<(?:{'|'.join(NAMES)})(?:[ \t][^<>\n]*)?>)"
"""Pattern of one such beginning."""
END = rf"(?:\]\]>|</(?:{'|'.join(NAMES)})>)"
"""Pattern of one such end."""
_BEGIN = re.compile(BEGIN, re.IGNORECASE)
_END = re.compile(END, re.IGNORECASE)
_BLANKS = re.compile(r"\s*")


def unwrapped(source: str) -> str:
    """The source without tags before and behind it; unchanged where there are none."""
    start, end = 0, len(source)
    while begun := _BEGIN.match(source, _BLANKS.match(source, start).end()):  # type: ignore[union-attr]  # \s* always matches
        start = begun.end()
    ends = [match.span() for match in _END.finditer(source, start)]
    while ends and not source[ends[-1][1] : end].strip():
        end = ends.pop()[0]
    return source if (start, end) == (0, len(source)) else source[start:end].strip("\n") + "\n"


def enclosed(text: str) -> str:
    """What stands between the first tag that begins and the last that ends; empty where there are no two."""
    begun = _BEGIN.search(text)
    ends = [match.start() for match in _END.finditer(text)] if begun else []
    return text[begun.end() : ends[-1]] if begun and ends and ends[-1] > begun.end() else ""
