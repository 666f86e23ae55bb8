"""Attributes of foreign modules and classes, replaced for a while."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replaced(owner: object, **attributes: object) -> Iterator[None]:
    """Set attributes of `owner` for a while."""
    before = {name: getattr(owner, name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
