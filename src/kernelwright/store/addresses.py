"""Where this user's own runs have sent keys and kernels, so that a run's folder from elsewhere can name no new place."""

from collections.abc import Iterable
from contextlib import suppress

from kernelwright.pages import state_folder

FILE = "addresses.txt"


def unknown(places: Iterable[str]) -> list[str]:
    """Those where no run of this user's has begun."""
    try:
        known = set((state_folder() / FILE).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        known = set()
    return [place for place in dict.fromkeys(places) if place not in known]


def remember(places: Iterable[str]) -> None:
    """This user begins a run there; where that cannot be written down, it will be asked for again."""
    with suppress(OSError):
        for place in unknown(places):
            state_folder().mkdir(parents=True, exist_ok=True)
            with (state_folder() / FILE).open("a", encoding="utf-8") as file:
                file.write(f"{place}\n")
