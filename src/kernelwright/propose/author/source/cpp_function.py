"""A helper function as C++ text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A helper and the helpers that it calls."""

    name: str
    text: str
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
