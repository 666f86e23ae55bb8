"""Clips long texts for a prompt and says what was cut. A dialogue's source is never cut."""

LINES, CHARACTERS = 150, 12_000
"""Most of a log."""
JUDGED_LINES = 150
"""Last lines of an error log that an adviser is shown, as in CudaForge."""


def clip(text: str, lines: int = LINES, characters: int = CHARACTERS) -> str:
    """The first and the last part: compilers say what matters first, programs that crash say it last."""
    rows = text.splitlines()
    if len(rows) > lines:
        head, tail = rows[: lines - lines // 3], rows[len(rows) - lines // 3 :]
        cut = len(rows) - len(head) - len(tail)
        text = "\n".join([*head, f"[{cut} lines were cut here]", *tail])
    if len(text) <= characters:
        return text
    tail_length = characters // 3
    cut = len(text) - characters
    return f"{text[: characters - tail_length]}\n[{cut} characters were cut here]\n{text[len(text) - tail_length :]}"


def last_lines(text: str, lines: int = JUDGED_LINES, characters: int = CHARACTERS) -> str:
    """The last lines."""
    rows = text.splitlines()
    if len(rows) > lines:
        text = "\n".join([f"[{len(rows) - lines} lines were cut here]", *rows[-lines:]])
    if len(text) <= characters:
        return text
    return f"[{len(text) - characters} characters were cut here]\n{text[-characters:]}"
