"""C++ as text: comments and strings masked, brackets matched, the items of a scope one after the other.

What it cannot follow it reports, and the caller takes the slow way. A wrong guess shows as a compiler's error there,
not as a wrong kernel.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_HIDDEN = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_OPEN, _CLOSE = "([{", ")]}"


class UnclearError(Exception):
    """The text is not as this module can read it."""


@dataclass(frozen=True)
class Item:
    """One declaration, definition, opening of a scope, or preprocessor line: a stretch of the text."""

    kind: Literal["directive", "declaration", "function", "scope"]
    start: int
    end: int
    """Behind its last character; of a scope, behind its opening brace."""
    body: int = -1
    """Where the brace of a function's or scope's body opens."""


def masked(source: str) -> str:
    """The text with comments and literals as blanks, of equal length and with the same lines."""
    return _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def without_directives(code: str) -> str:
    """The same with preprocessor lines as blanks."""
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def closing(code: str, start: int) -> int:
    """The position of the bracket that closes the one at `start`.

    Raises:
        UnclearError: there is none.
    """
    depth = 0
    for position in range(start, len(code)):
        if code[position] in _OPEN:
            depth += 1
        elif code[position] in _CLOSE:
            depth -= 1
            if depth == 0:
                return position
    raise UnclearError(f"the bracket at character {start} is never closed")


def items(code: str) -> Iterator[Item]:
    """The items of a file, those within namespaces included, in order; `code` is masked.

    Raises:
        UnclearError: brackets do not match.
    """
    plain = without_directives(code)
    position = 0
    while position < len(code):
        if code[position].isspace() or plain[position] in "};":
            position += 1
            continue
        directive = _DIRECTIVE.match(code, position)
        if directive is None and plain[position].isspace():
            # Within a directive's line that began with blanks.
            directive = _DIRECTIVE.match(code, code.rfind("\n", 0, position) + 1)
        item = Item("directive", position, directive.end()) if directive else _item(plain, position)
        yield item
        position = item.end


def _item(plain: str, start: int) -> Item:
    position = start
    while position < len(plain):
        character = plain[position]
        if character == ";":
            return Item("declaration", start, position + 1)
        if character in "([":
            position = closing(plain, position)
        elif character == "{":
            head = plain[start:position].strip()
            if re.fullmatch(r"(?:inline\s+)?namespace\b[\w:\s]*|extern", head):
                return Item("scope", start, position + 1, position)
            end = closing(plain, position)
            if head.endswith(")") or re.search(r"\)\s*(?:const|noexcept|->\s*[\w:&*<>\s]+|:.*)$", head, re.DOTALL):
                return Item("function", start, end + 1, position)
            position = end
        position += 1
    raise UnclearError(f"the declaration at character {start} has no end")


def split_list(text: str) -> list[str]:
    """A list's parts at commas outside all brackets, `<` and `>` included; empty for an empty list."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[position - 1 : position] != "-"):
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts] if text.strip() else []
