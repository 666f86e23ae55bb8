"""The metrics of a prompt: every figure that is known of one call, by stable names, each explained once.

A table is never empty: where there is no profiler, the referee's own clock and the device's ceilings still say how much of
the bandwidth a call reaches, how much it computes, and what it could use.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from kernelwright.records.evaluation import Measured
from kernelwright.records.profile import Profile
from kernelwright.records.run import Device

DIGITS = 4
"""Significant digits of a figure that is computed here."""
CALL = ("device", "device_us", "bytes", "flops", "ceilings")
"""What a profile says of the whole call."""
NAMES: dict[str, str] = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))
"""What each metric means, with its unit."""


def figures(profile: Profile | None, measured: Measured | None, device: Device | None) -> dict[str, JsonValue]:
    """Every figure that is known: of the call, and of each kernel where a profiler saw any."""
    found: dict[str, JsonValue] = {}
    if profile is not None:
        found |= profile.model_dump(mode="json", exclude_none=True, include=set(CALL))
    machine: dict[str, JsonValue] = {"cores": device.cores} if device is not None else {}
    machine |= {"vector_bits": device.vector_bits} if device is not None and device.vector_bits else {}
    call: dict[str, JsonValue] = {"call": found | _clocked(measured) | machine}
    kernels: dict[str, JsonValue] = {kernel.name: kernel.figures() for kernel in profile.kernels} if profile else {}
    loops: list[JsonValue] = [loop.model_dump(mode="json") for loop in profile.loops] if profile else []
    return call | ({"kernels": kernels} if kernels else {}) | ({"loops": loops} if loops else {})


def _clocked(measured: Measured | None) -> dict[str, JsonValue]:
    """What the referee's clock says of traffic and arithmetic."""
    if measured is None:
        return {}
    took, roofline = measured.timing.latency_us, measured.roofline
    found = {"latency_us": took, "achieved_gbps": roofline.bytes / took / 1e3}
    if roofline.ceiling_gbps:
        found["bandwidth_share"] = found["achieved_gbps"] / roofline.ceiling_gbps
    if roofline.flops:
        found["achieved_gflops"] = roofline.flops / took / 1e3
    return {name: float(f"{value:.{DIGITS}g}") for name, value in found.items()}


def table(shown: Mapping[str, JsonValue]) -> str:
    """The figures as JSON."""
    return json.dumps(shown, indent=1)


def explained(shown: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """A line for each metric that is shown."""
    return tuple(f"{name}: {NAMES[name]}" for name in dict.fromkeys(_keys(shown)) if name in NAMES)


def _keys(shown: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(shown, Mapping):
        for name, value in shown.items():
            yield name
            yield from _keys(value)
    elif isinstance(shown, Iterable) and not isinstance(shown, str):
        for value in shown:
            yield from _keys(value)
