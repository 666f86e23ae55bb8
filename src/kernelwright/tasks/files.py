"""Files that a person named: their text, and the size that a task's path names.

`relu.py@large` is the file `relu.py` at another of the sizes that it lists itself. The file says, at module level, in
literals:

    SIZES = {"small": {"n": 4096}, "medium": {"n": 65536}, "large": {"n": 16777216}}
    SIZE = SIZES["medium"]

The one word between the brackets is replaced, by its place in the syntax tree, so that the source stays complete in
itself and every other line what its author wrote. Nothing is run.
"""

import ast
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import TaskError

LIMIT_BYTES = 4 << 20
"""Longer than any source that a person wrote."""


def read_text(path: Path, what: str) -> str:
    """The file's text, without a byte order mark.

    Raises:
        TaskError: it does not exist, is no file, cannot be opened, is too long, or is not UTF-8.
    """
    if not path.exists():
        raise TaskError(f"{what} {str(path)!r} does not exist: check the path")
    if not path.is_file():
        raise TaskError(f"{what} {str(path)!r} is not a file: name one source file")
    try:
        if path.stat().st_size > LIMIT_BYTES:
            raise TaskError(f"{what} {str(path)!r} is longer than {LIMIT_BYTES >> 20} MiB: name one source file")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{what} {str(path)!r} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except OSError as error:
        raise TaskError(f"{what} {str(path)!r} cannot be read ({error.strerror}): check its permissions") from None


def read_within(folder: Path, file: Path, what: str) -> str:
    """The text of a file that a text from outside names, or that lies in a folder from outside.

    Raises:
        TaskError: it is not in the folder, or is a link that leads out of it; or as `read_text`.
    """
    if not is_within(folder, file):
        raise TaskError(f"{what} {str(file)[:200]!r}, which is not in its folder: put it beside the task")
    return read_text(file, what)


def is_within(folder: Path, file: Path) -> bool:
    """Whether a file is in a folder, wherever links lead."""
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


_MARK = "@"


class SizedPath(NamedTuple):
    """A path as a person wrote it, taken apart."""

    file: Path
    size: str
    """Empty: the size that the file has by itself."""

    @property
    def name(self) -> str:
        """What the task is called, such as `relu@large`."""
        return f"{self.file.stem}{_MARK}{self.size}" if self.size else self.file.stem


def split_size(path: Path) -> SizedPath:
    """`a/relu.py@large` as its file and its size; a path that exists as it is names no size."""
    stem, mark, size = path.name.rpartition(_MARK)
    if not mark or not stem or not size or path.exists():
        return SizedPath(path, "")
    return SizedPath(path.with_name(stem), size)


def with_size(path: Path, size: str) -> Path:
    """The path of a file at one of its sizes."""
    return path.with_name(f"{path.name}{_MARK}{size}") if size else path


def sizes_of(source: str) -> tuple[str, ...]:
    """The sizes that a task's text lists, in its order; none where it lists none."""
    try:
        table = last_assigned(ast.parse(source), "SIZES")
        listed = ast.literal_eval(table) if table is not None else {}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return ()
    return tuple(key for key in listed if isinstance(key, str)) if isinstance(listed, dict) else ()


def at_size(source: str, size: str, path: Path) -> str:
    """The text with `SIZE` set to another of its `SIZES`.

    Raises:
        TaskError: the text lists no sizes, or not this one.
    """
    sizes = sizes_of(source)
    if size not in sizes:
        known = f"one of {', '.join(sizes)}" if sizes else "it lists none in a literal SIZES = {...}"
        raise TaskError(f"task {str(path)!r} has no size {size!r}: {known}")
    match last_assigned(ast.parse(source), "SIZE"):
        case ast.Subscript(value=ast.Name(id="SIZES"), slice=ast.Constant(value=str()) as word):
            return _replaced(source, word, repr(size).replace("'", '"'))
    raise TaskError(f"task {str(path)!r}: its size cannot be chosen: add the line SIZE = SIZES[{sizes[0]!r}]")


def last_assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """The value of the last assignment to a name at module level."""
    found = None
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=assigned)], value=value) if assigned == name:
                found = value
            case ast.AnnAssign(target=ast.Name(id=assigned), value=ast.expr() as value) if assigned == name:
                found = value
    return found


def _replaced(source: str, word: ast.Constant, text: str) -> str:
    # Columns count bytes of UTF-8, lines end as Python's own tokenizer ends them.
    lines = source.encode().splitlines(keepends=True)
    line = lines[word.lineno - 1]
    lines[word.lineno - 1] = line[: word.col_offset] + text.encode() + line[word.end_col_offset :]
    return b"".join(lines).decode()
