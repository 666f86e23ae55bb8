"""The tables of `spellings.toml`: what random modules are drawn from. A new operation or spelling is a string there."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(part: str) -> dict[str, tuple[Any, ...]]:
    """The lists of one part, by name; a list within one is a tuple too."""
    found = tomllib.loads(Path(__file__).with_name("spellings.toml").read_text())[part]
    return {name: tuple(tuple(row) if isinstance(row, list) else row for row in rows) for name, rows in found.items()}
