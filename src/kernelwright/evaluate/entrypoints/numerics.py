"""PyTorch's precision flags inside a child: what is in force, and how a process is given another's.

Each flag is read by its own path. Where a program mixed PyTorch's older names with the newer `fp32_precision`, reading an
older one raises; it is then left out, and the newer ones tell the same.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter

import torch

from kernelwright.records.numerics import ALWAYS, AUTOCAST, FLAGS, OLDER, Flags, NumericsMode

_FUNCTIONS: dict[str, tuple[Callable[[], bool | str], Callable[..., None]]] = {
    "float32_matmul_precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "deterministic_algorithms": (
        torch.are_deterministic_algorithms_enabled,
        partial(torch.use_deterministic_algorithms, warn_only=True),
    ),
}


def begin(mode: NumericsMode) -> None:
    """Before any code of a task or a candidate runs: TF32 is on in PyTorch's convolutions, and off in its matrix products."""
    if mode != "as-is":
        torch.set_float32_matmul_precision("high" if mode == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = mode == "tf32"


def take(flags: Flags) -> None:
    """Set every flag that is not as it should be."""
    for name in FLAGS:
        if name in flags and _read(name) != flags[name]:
            _write(name, flags[name])


def told() -> Flags:
    """The flags in force: two always, others where they are not what PyTorch ships."""
    found = everything()
    unsaid = {name: value for name, value in found.items() if OLDER.get(name) not in found}
    return {name: value for name, value in unsaid.items() if name in ALWAYS or SHIPPED.get(name) != value}


def everything() -> Flags:
    """Every flag that this PyTorch has."""
    return {name: value for name in FLAGS if (value := _read(name)) is not None}


def changed(since: Flags, source: str) -> Flags:
    """What a candidate's own code has set since; a text that speaks of autocast may also open regions of it."""
    found = {name: value for name, value in everything().items() if since.get(name) != value}
    return {**found, **({AUTOCAST: True} if AUTOCAST in source else {})}


def _read(name: str) -> bool | str | None:
    """A flag's value; None where this PyTorch has no such flag or cannot say."""
    try:
        value = _FUNCTIONS[name][0]() if name in _FUNCTIONS else attrgetter(name)(torch.backends)
    except (AttributeError, RuntimeError):
        return None
    return value if isinstance(value, bool | str) else None


def _write(name: str, value: bool | str) -> None:
    if name in _FUNCTIONS:
        _FUNCTIONS[name][1](value)
        return
    owner, _, last = name.rpartition(".")
    setattr(attrgetter(owner)(torch.backends), last, value)


SHIPPED = everything()
"""What PyTorch ships; this module is imported before any code that could change it."""
