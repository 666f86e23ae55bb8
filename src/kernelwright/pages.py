"""Where the pages of `docs/` lie that messages point to: in a checkout beside `src`, in an installed wheel in the package."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")


def page(name: str) -> str:
    """The path of a page, such as `docs/models.md`: as short as it can be said from the current folder."""
    file = next((place / name for place in _PLACES if (place / name).is_file()), _PLACES[0] / name)
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
