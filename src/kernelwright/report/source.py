"""Source text for the report: highlighted, or as a difference from its parent.

Sources are hostile text: everything that leaves here is escaped markup without scripts or styles.
"""

import difflib

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from kernelwright.languages import language
from kernelwright.report import words

LOG_LIMIT = 16_000
SOURCE_LIMIT = 120_000
"""Characters that are shown; the store keeps the whole."""
HIGHLIGHT_LIMIT = 200_000
"""Characters; a longer source is shown without colours."""
DIFF_LINES = 1500
LINE_LIMIT = 2000
"""Characters of one line of a difference."""


def highlighted(source: str, written: str | None) -> Markup:
    """`source` with a span for each token and each line; `None` stands for Python."""
    text = words.visible(source).rstrip("\n")
    if len(text) > HIGHLIGHT_LIMIT:
        return _lines(str(escape(words.clip(text, HIGHLIGHT_LIMIT))))
    lexer = get_lexer_by_name(language(written).lexer if written else "python", stripnl=False)
    return _lines(highlight(text, lexer, HtmlFormatter(nowrap=True)).rstrip("\n"))


def plain(text: str, limit: int = LOG_LIMIT) -> Markup:
    """A log or a source as it is, at most `limit` characters of it."""
    return escape(words.visible(words.clip(text, limit)))


def difference(old: str, new: str) -> Markup:
    """A unified difference with three lines of context, a class for each kind of line."""
    lines = difflib.unified_diff(words.visible(old).splitlines(), words.visible(new).splitlines(), lineterm="", n=3)
    body = list(lines)[2:]
    rows = [_row(line) for line in body[:DIFF_LINES]]
    if len(body) > DIFF_LINES:
        rows.append(Markup('<span class="d at">… {} more lines …</span>').format(len(body) - DIFF_LINES))
    return Markup("\n").join(rows)


def _row(line: str) -> Markup:
    kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1], "same")
    return Markup('<span class="d {}">{}</span>').format(kind, words.clip(line, LINE_LIMIT))


def _lines(escaped: str) -> Markup:
    """Takes what markupsafe or pygments escaped, and nothing else."""
    spans = (f'<span class="l">{line}</span>' for line in escaped.split("\n"))
    return Markup("\n".join(spans))
