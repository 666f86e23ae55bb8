"""The preprocessor: comments go, conditionals are decided, macros are expanded, system headers are kept apart.

What a header defines (`FLT_MAX`, `M_PI`) stays as it is. Names that C++ keeps for itself get an underscore, because
all that is made of the code is C++.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w.]*(?:(?<=[eEpP])[+-]\w+)?|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\s+|.", re.DOTALL
)
_WORDS = """and bitand bitor catch class compl constexpr delete explicit export friend mutable namespace new not operator or
private protected public template this throw try typename using virtual xor"""
KEPT_BY_CPP = frozenset(_WORDS.split())
"""Words of C++ that are names in C."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')", re.DOTALL)
_MACRO = re.compile(r"(\w+)(\(([^)]*)\))?[ \t]*(.*)", re.DOTALL)
_DEEPEST = 40


@dataclass(frozen=True)
class Macro:
    """A name, its parameters (None: it is no function) and what stands for it."""

    parameters: tuple[str, ...] | None
    body: str


def preprocessed(code: str, dialect: str) -> tuple[str, str]:
    """The lines that include headers, and the code with nothing left to the preprocessor."""
    plain = _COMMENT.sub(lambda m: m[1] or " ", code.replace("\\\n", " "))
    plain = plain.encode("ascii", "replace").decode()
    included, done, kept = list[str](), list[str](), list[str]()
    macros, live = dict[str, Macro](), list[bool]()
    for line in plain.splitlines():
        if not line.lstrip().startswith("#"):
            kept.append(line if all(live) else "")
            continue
        word, _, rest = line.lstrip()[1:].lstrip().partition(" ")
        if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            _decide(word, rest.strip(), macros, live)
        elif not all(live):
            continue
        elif word == "include":
            included.append(line.strip())
        elif word in ("define", "undef"):
            done.append(_expand("\n".join(kept), macros))
            kept.clear()
            _define(word, rest.strip(), macros)
    text = "\n".join([*done, _expand("\n".join(kept), macros)])
    return "\n".join(included), text if dialect != "c" else _renamed(text)


def _decide(word: str, rest: str, macros: dict[str, Macro], live: list[bool]) -> None:
    if word == "endif":
        live.pop()
    elif word in ("else", "elif"):
        live[-1] = not live[-1] and (word == "else" or _true(rest, macros))
    else:
        live.append(_true(rest, macros) if word == "if" else (rest in macros) == (word == "ifdef"))


def _true(rest: str, macros: dict[str, Macro]) -> bool:
    asked = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m[1] in macros)), rest)
    value = _expand(asked, macros).strip()
    negated = value.startswith("!")
    return (value.lstrip("! ").strip("() ") not in ("", "0") and not re.match(r"!?\s*[A-Za-z_]", value)) != negated


def _define(word: str, rest: str, macros: dict[str, Macro]) -> None:
    found = _MACRO.match(rest)
    if found is None or word == "undef":
        macros.pop(rest, None)
        return
    names = None if found[2] is None else tuple(p.strip() for p in found[3].split(",") if p.strip())
    macros[found[1]] = Macro(names, found[4].strip())


def _expand(text: str, macros: dict[str, Macro], within: frozenset[str] = frozenset()) -> str:
    if not macros or len(within) > _DEEPEST:
        return text
    tokens, out, at = TOKEN.findall(text), list[str](), 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        macro = macros.get(token) if token not in within else None
        if macro is None:
            out.append(token)
        elif macro.parameters is None:
            out.append(_expand(macro.body, macros, within | {token}))
        else:
            given, after = _arguments(tokens, at)
            made = [_expand(g, macros, within) for g in given or []]
            out.append(token if given is None else _expand(_filled(macro, made), macros, within | {token}))
            at = after
    return "".join(out)


def _arguments(tokens: list[str], at: int) -> tuple[list[str] | None, int]:
    """What stands between the parentheses after `at`, by its commas, and the place behind; None: there are none."""
    start = at
    while start < len(tokens) and tokens[start].isspace():
        start += 1
    if start >= len(tokens) or tokens[start] != "(":
        return None, at
    depth, given = 0, [""]
    for place in range(start, len(tokens)):
        token = tokens[place]
        depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            return [g.strip() for g in given], place + 1
        if token == "," and depth == 1:
            given.append("")
        elif place > start:
            given[-1] += token
    return None, at


def _filled(macro: Macro, given: list[str]) -> str:
    names = dict(zip(macro.parameters or (), given, strict=False))
    return re.sub(r"\s*##\s*", "", "".join(names.get(token, token) for token in TOKEN.findall(macro.body)))


def _renamed(text: str) -> str:
    """C that is no C++: its own words go, and those of C++ that it uses as names are changed."""
    plain = re.sub(r"\[\s*((static|restrict|const)\s+)+", "[", re.sub(r"\bregister\b", "", text))
    return "".join(f"{token}_" if token in KEPT_BY_CPP else token for token in TOKEN.findall(plain))
