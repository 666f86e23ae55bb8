"""Fails when a module has more than 500 lines or a function more than 60: often a noun is missing there."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MODULE_LINES = 500
FUNCTION_LINES = 60


def main(roots: list[str]) -> int:
    """Names every module and function under `roots` that is too long; the status is 1 if there are any."""
    found = [told for root in roots for path in sorted(Path(root).rglob("*.py")) for told in too_long(path)]
    for told in found:
        sys.stderr.write(f"{told}\n")
    return int(bool(found))


def too_long(path: Path) -> Iterator[str]:
    """What of one file is too long, in words."""
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if lines > MODULE_LINES:
        yield f"{path}: {lines} lines, at most {MODULE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{path}:{node.lineno} {node.name}: {lines} lines, at most {FUNCTION_LINES}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
