"""Fenced blocks and one-line words: how untrusted text stands in a prompt without becoming part of it.

A fence is longer than any run of its character inside, so nothing within can close it. A name has one line and no
backticks.
"""

import re

_RUNS = re.compile(r"`+")
_UNSAFE = re.compile(r"[`\x00-\x1f\x7f\u2028\u2029]+")
SHORTEST = 3
LONGEST_NAME = 200
"""Characters of a name."""


def fenced(text: str, tag: str = "") -> str:
    """The text, unchanged but for a newline at its end, in a block that it cannot end."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    fence = "`" * max(SHORTEST, longest + 1)
    return f"{fence}{tag}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def inline(text: str) -> str:
    """The text as one line without backticks, to stand within a sentence."""
    return _UNSAFE.sub(" ", text).strip()[:LONGEST_NAME]
