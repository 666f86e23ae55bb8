"""Kinds of device and their architectures, as `knowledge/hardware.toml` lists them.

This module stands below the records, which check names against it. `knowledge/hardware.py` makes typed facts of the rows.
To add an architecture, write a row in the table; to add a device, a sheet; to add a kind, its table and a backend of its
name.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "knowledge" / "hardware.toml"
Fact = str | int | float | list[str]
_MAKERS = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct)\b")
_SIGNS = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True)
class Kind:
    """One kind of device."""

    name: str
    vendor: str = ""
    """Who makes such GPUs; empty for the CPU."""
    usual: str = "native"
    """The architecture that kernels are compiled for where none is named and no such device is here."""
    timed: bool = False
    """Whether kernels can be run and timed where such a device is here."""
    words: str = ""
    """What this vendor calls the things that the facts name."""
    numbered: bool = False
    """Whether an architecture's number is NVIDIA's compute capability, such as 90 of `sm_90`."""
    inductor: bool = False
    """Whether PyTorch's compiler is asked for kernels for it."""
    architectures: tuple[str, ...] = ()
    """Oldest first."""

    @property
    def gpu(self) -> bool:
        """Whether it is a GPU."""
        return bool(self.vendor)


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind by name."""
    return {name: _kind(name, table) for name, table in _read().items()}


@cache
def facts() -> Mapping[str, Mapping[str, Fact]]:
    """The row of each architecture, with what is common to its kind, and the `kind` itself."""
    return {
        arch: {"kind": kind, **table.get("common", {}), **row}
        for kind, table in _read().items()
        for arch, row in table.get("arch", {}).items()
    }


@cache
def sheets() -> Mapping[str, Mapping[str, Fact]]:
    """The facts of every device with a sheet, by its name: those of its architecture, with what differs."""
    found = {str(row["device"]): {**row, "arch": arch} for arch, row in facts().items()}
    for table in _read().values():
        found |= {sheet["device"]: {**facts()[sheet["arch"]], **sheet} for sheet in table.get("device", ())}
    return found


def device_named(name: str) -> str:
    """The device with a sheet that a person or a driver calls so, such as `NVIDIA H100 80GB HBM3`; empty: none."""
    return _names().get(_plain(name), "")


@cache
def _names() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for device, sheet in sheets().items():
        also = sheet.get("also")
        found |= {_plain(name): device for name in (device, *(also if isinstance(also, list) else ()))}
    return found


def _plain(name: str) -> str:
    return _SIGNS.sub("", _MAKERS.sub("", name.lower()))


def understood(name: str) -> str:
    """A target's name as the table has it: `CPU` is cpu, `sm_90a` is sm_90, and `gfx942:sramecc+` is gfx942."""
    plain = name.strip().lower().partition(":")[0]
    variant = plain[:-1] if plain.endswith(("a", "f")) else plain
    return next((each for each in (plain, variant) if each in kinds() or each in facts()), name)


def kind_of(arch: str) -> str:
    """The kind of device that has this architecture; one that no table knows is told by how it is spelled."""
    if arch in facts():
        return str(facts()[arch]["kind"])
    return next(
        (kind.name for kind in kinds().values() if any(arch[:2] == known[:2] for known in kind.architectures)), ""
    )


@cache
def _read() -> dict[str, dict[str, Any]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _kind(name: str, table: dict[str, Any]) -> Kind:
    own = {field: value for field, value in table.items() if field not in ("common", "arch", "device")}
    return Kind(name, architectures=tuple(table.get("arch", {})), **own)
