"""Where things lie: the pages of `docs/` that messages point to, and what this user keeps between runs.

The pages are beside `src` in a checkout, and in the package in an installed wheel.
"""

import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")


def page(name: str) -> str:
    """The path of a page, such as `docs/models.md`: as short as it can be said from the current folder."""
    file = next((place / name for place in _PLACES if (place / name).is_file()), _PLACES[0] / name)
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def cache_folder() -> Path:
    """Kernelwright's share of this user's cache: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "kernelwright"


def state_folder() -> Path:
    """What this user's runs leave for later ones and cannot be made again: below XDG_STATE_HOME, or ~/.local/state."""
    return Path(os.environ.get("XDG_STATE_HOME") or _home() / ".local" / "state") / "kernelwright"


def _home() -> Path:
    """This user's home; a folder among the temporary files for a user that has none, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"home-of-{os.geteuid()}"
