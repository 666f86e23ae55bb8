"""What ncu printed, as numbers: CSV of its raw or its details page, with whatever else is mixed in.

The profiled program prints into the same stream, and it is untrusted: no line is believed, and what makes no sense is
skipped.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.records.launch import Dim3

UNITS = {
    "": 1.0, "%": 1.0, "inst": 1.0, "cycle": 1.0, "sector": 1.0, "block": 1.0, "warp": 1.0, "byte": 1.0,
    "s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9,
    "hz": 1.0, "cycle/second": 1.0, "cycle/s": 1.0,
}  # fmt: skip
"""Factor to seconds, bytes, per cent or a plain number; `scale_of` adds decimal prefixes and rates."""
PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?")
_UNKNOWN = re.compile(r"Failed to find metric (?:regex:)?\^?([A-Za-z0-9_.\\]+)")


@dataclass(frozen=True)
class Instance:
    """One profiled launch."""

    kernel: str
    grid: Dim3 | None
    block: Dim3 | None
    values: dict[str, float]
    """By ncu's names, in seconds, bytes, per cent or plain numbers; what was not a number is absent."""


@dataclass(frozen=True)
class Output:
    """Everything that could be read."""

    instances: tuple[Instance, ...]
    denied: bool
    """The driver keeps counters from this user."""
    busy: bool
    """Another tool holds the counters."""
    unknown: frozenset[str]
    """Metrics that this ncu does not know on this chip."""
    problem: str
    """The first complaint, for people; empty when there was none."""


def read(text: str) -> Output:
    """Read what ncu wrote, to its log and to the terminal together."""
    lines = text.splitlines()
    complaints = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    unknown = frozenset(m[1].replace("\\", "").rstrip(".") for line in complaints for m in _UNKNOWN.finditer(line))
    instances = tuple(_instances([line for line in lines if not line.startswith("==")]))
    problem = complaints[0] if complaints else ""
    if not problem and not instances:
        problem = next((line for line in lines if "No kernels were profiled" in line), "ncu reported no kernel")
    return Output(
        instances,
        denied="ERR_NVGPUCTRPERM" in text,
        busy="ERR_NVGPUCTRRES" in text or "driver resource was unavailable" in text.lower(),
        unknown=unknown,
        problem=problem.strip()[:400],
    )


def number(text: str) -> float | None:
    """A value as ncu prints it: `1,234.5`, `12`, `1.234.567` of another locale; None for `n/a` and `nan`."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    # A separator that comes several times, or before another one, stands between thousands.
    if "," in text and ("." not in text or text.rfind(".") > text.rfind(",")):
        text = text.replace(",", "") if _thousands(text, ",") else text.replace(",", ".")
    elif "," in text:
        text = text.replace(".", "").replace(",", ".")
    elif text.count(".") > 1:
        text = text.replace(".", "")
    try:
        return float(text)
    except ValueError:
        return None


def scale_of(unit: str) -> float:
    """Factor from a unit of ncu's to seconds, bytes and per cent: `Mbyte`, `Gbyte/s`, `register/thread`, `usecond`."""
    unit = unit.strip()
    if unit in UNITS:
        return UNITS[unit]
    first, _, per = unit.partition("/")
    prefix = PREFIXES.get(first[:1], 1.0) if first[1:] in ("byte", "inst", "cycle", "hz", "sector") else 1.0
    time = {"ms": 1e3, "us": 1e6, "usecond": 1e6, "ns": 1e9, "nsecond": 1e9, "msecond": 1e3}.get(per, 1.0)
    return prefix * time


def _thousands(text: str, separator: str) -> bool:
    whole = text.split(".")[0].lstrip("+-").split(separator)
    return 0 < len(whole[0]) <= 3 and all(len(part) == 3 for part in whole[1:])


def _instances(lines: Sequence[str]) -> Iterator[Instance]:
    header: list[str] = []
    units: list[str] = []
    long: dict[tuple[str, ...], Instance] = {}
    for row in _rows(lines):
        if "ID" in row and "Kernel Name" in row:
            header, units = row, []
        elif len(row) != len(header):
            continue
        elif "Metric Name" in header:
            _collect(dict(zip(header, row, strict=True)), long)
        elif not row[header.index("ID")]:
            units = row
        elif row[header.index("ID")].isdigit():
            yield _wide(header, units, row)
    yield from long.values()


def _rows(lines: Sequence[str]) -> Iterator[list[str]]:
    # Line by line: a quote that the program left open must not swallow the rows after it.
    for line in lines:
        if '"' in line:
            try:
                yield next(csv.reader([line], strict=True))
            except (csv.Error, StopIteration):
                continue


def _wide(header: list[str], units: list[str], row: list[str]) -> Instance:
    named = dict(zip(header, row, strict=True))
    values: dict[str, float] = {}
    for index, name in enumerate(header):
        value = number(row[index]) if "__" in name else None
        if value is not None:
            values[name] = value * scale_of(units[index] if units else "")
    return Instance(named["Kernel Name"], _dims(named, "Grid Size"), _dims(named, "Block Size"), values)


def _collect(row: dict[str, str], found: dict[tuple[str, ...], Instance]) -> None:
    key = (row["ID"], row.get("Process ID", ""))
    if not row["ID"].isdigit():
        return
    dims = (_dims(row, "Grid Size"), _dims(row, "Block Size"))
    instance = found.setdefault(key, Instance(row["Kernel Name"], *dims, {}))
    value = number(row.get("Metric Value", ""))
    if value is not None:
        instance.values[row["Metric Name"]] = value * scale_of(row.get("Metric Unit", ""))


def _dims(row: dict[str, str], name: str) -> Dim3 | None:
    numbers = [int(n) for n in re.findall(r"\d{1,10}", row.get(name, ""))]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 and min(numbers) > 0 else None
