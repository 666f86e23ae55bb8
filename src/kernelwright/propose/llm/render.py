"""Renders prompt files, strictly: what a file names must be given, and what is given must be named.

A variant's own files are found before the standard ones; `languages/NAME.md` is that language's contract. The hash of a
prompt covers exactly the files that made it. Values are data: nothing in them is looked at as a template. Untrusted text
stands in a fence that is longer than any run of its character inside, and long text is clipped, which the prompt says.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template, TemplateError, TemplateNotFound, meta

from kernelwright.errors import ProposeError, UsageError
from kernelwright.languages import languages
from kernelwright.records.base import identity

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


def inline(text: str, characters: int = LONGEST_NAME) -> str:
    """The text as one line without backticks, to stand within a sentence."""
    return _UNSAFE.sub(" ", text).strip()[:characters]


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


STANDARD = "standard"
"""The variant without files of its own."""
TRAINED = "trained"
"""The standard files, showing what training shows: for a model that was trained with `kernelwright train`."""
EDITS = "edits"
"""As `TRAINED`, and a kernel is changed by an edit of it: for a model that was trained with this variant."""
Value = object
"""Whatever a prompt file can show: text, a record, or None where there is nothing to show."""


@dataclass(frozen=True)
class Rendered:
    """A prompt, and the files that made it."""

    system: str
    user: str
    files: Mapping[str, str]
    """Content by name."""


def prompt_hash(*prompts: Rendered) -> str:
    """Content hash of exactly the files that were used."""
    return identity("prompt", {name: text for prompt in prompts for name, text in prompt.files.items()})


def variants() -> tuple[str, ...]:
    """Every prompt variant by name, those without files of their own first."""
    found = sorted(folder.name for folder in _root().joinpath("variants").iterdir() if folder.is_dir())
    return (STANDARD, TRAINED, *found)


class Prompts:
    """The prompt files of one variant."""

    def __init__(self, variant: str = STANDARD, root: Traversable | None = None) -> None:
        if root is None and variant not in variants():
            raise UsageError(f"prompt variant {variant!r} must be one of {', '.join(variants())}")
        base = root or _root()
        self._folders = (base,) if variant in (STANDARD, TRAINED) else (base.joinpath("variants", variant), base)
        self._files = _Files(self._folders)
        self.trained = variant in (TRAINED, EDITS)

    def render(self, name: str, values: Mapping[str, Value]) -> Rendered:
        """The prompt of that name.

        Raises:
            ProposeError: there is no such prompt, it names a value that was not given, or one was given that it does
                not name.
        """
        used: dict[str, str] = {}
        noting = _USED.set(used)
        try:
            template = self._files.get_template(f"{name}.md")
            system, user = (_block(template.blocks, template.new_context(dict(values)), b) for b in ("system", "user"))
        except TemplateNotFound as error:
            raise ProposeError(f"prompt {name!r}: there is no file {str(error)!r} among the prompts") from None
        except TemplateError as error:
            raise ProposeError(f"prompt {name!r} cannot be rendered: {error}") from None
        finally:
            _USED.reset(noting)
        unused = values.keys() - {name for text in used.values() for name in _named(text)}
        if unused:
            raise ProposeError(f"prompt {name!r} does not show {', '.join(sorted(unused))}: name them in its files")
        return Rendered(system, user, used)


_USED: ContextVar[dict[str, str]] = ContextVar("used")
"""Files of the prompt that is being rendered, by name."""


class _Files(Environment):
    """Prompt files of the first folder that has them, each read and compiled once: a trainer renders thousands of prompts."""

    def __init__(self, folders: tuple[Traversable, ...] = ()) -> None:
        self._texts: dict[str, str] = {}
        self._folders = folders
        super().__init__(
            loader=FunctionLoader(self._read),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.filters.update(fenced=fenced, inline=inline)

    def get_template(self, name: Any, *rest: Any, **named: Any) -> Template:  # noqa: ANN401  jinja2's
        """See `Environment.get_template`; what a file includes or extends is asked for here too, and noted."""
        template = super().get_template(name, *rest, **named)
        if template.name is not None:
            _USED.get()[template.name] = self._texts[template.name]
        return template

    def _read(self, name: str) -> str | None:
        text = _read(self._folders, name)
        if text is not None:
            self._texts[name] = text
        return text


def _block(blocks: Mapping[str, Callable[..., object]], context: object, name: str) -> str:
    if name not in blocks:
        raise ProposeError(f"a prompt file lacks the block {name!r}")
    parts = blocks[name](context)
    assert hasattr(parts, "__iter__")
    return "".join(parts).strip()


@cache
def _named(text: str) -> frozenset[str]:
    """The values that a file names; each file is parsed for them once."""
    return frozenset(meta.find_undeclared_variables(_Files().parse(text)))


def _read(folders: tuple[Traversable, ...], name: str) -> str | None:
    found = (folder.joinpath(*name.split("/")) for folder in folders)
    text = next((file.read_text(encoding="utf-8") for file in found if file.is_file()), None)
    contracts = (f"{each.contract}\n" for each in languages() if name == f"languages/{each.name}.md")
    return next(contracts, None) if text is None else text


def _root() -> Traversable:
    return files("kernelwright.propose.llm").joinpath("prompts")
