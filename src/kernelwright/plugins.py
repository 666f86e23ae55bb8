"""Parts that other distributions bring: strategies, proposers, rewards, models and backends, by entry point.

The table of each kind asks here for a name that it does not have itself, so that built-in names win and nobody pays for
plug-ins that are not used. docs/plugins.md says what each entry point must name.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from kernelwright.errors import UsageError
from kernelwright.pages import page

Kind = Literal["strategies", "proposers", "rewards", "models", "backends"]
_FAULTS = (
    ImportError,
    SyntaxError,
    AttributeError,
    NameError,
    TypeError,
    ValueError,
    LookupError,
    RuntimeError,
    OSError,
)
"""What importing somebody's module may raise."""


def plugin_names(kind: Kind) -> tuple[str, ...]:
    """The names of all installed plug-ins of a kind, sorted. Nothing is imported."""
    return tuple(sorted({entry.name for entry in entry_points(group=f"kernelwright.{kind}")}))


def load_plugin(kind: Kind, name: str, fits: Callable[[Any], bool] = callable) -> Any:  # noqa: ANN401  the table knows its type
    """What the entry point of that name names; None where no distribution has one.

    Args:
        kind: The group of the entry point, without `kernelwright.`.
        name: The name of the entry point.
        fits: Whether the object can be such a part at all.

    Raises:
        UsageError: it cannot be imported, is no such part, or two distributions bring it; names the distribution.
    """
    found = tuple(entry_points(group=f"kernelwright.{kind}", name=name))
    if not found:
        return None
    if len(found) > 1:
        owners = " and ".join(sorted(_owner(entry) for entry in found))
        raise UsageError(f"{owners} both bring {name!r} to kernelwright.{kind}: uninstall one")
    entry = found[0]
    try:
        part = entry.load()
    except _FAULTS as error:
        raise UsageError(
            f"{_said(kind, entry)} cannot be loaded ({type(error).__name__}: {error}): "
            f"update or uninstall {_owner(entry)}"
        ) from error
    if not fits(part):
        raise UsageError(f"{_said(kind, entry)} is no such part: {page('plugins.md')} says what one must be")
    return part


def _said(kind: Kind, entry: EntryPoint) -> str:
    return f"the plug-in {entry.name!r} of {_owner(entry)} (kernelwright.{kind}: {entry.value})"


def _owner(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown distribution"
