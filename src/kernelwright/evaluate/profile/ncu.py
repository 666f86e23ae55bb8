"""The first tier: hardware counters through NVIDIA Nsight Compute's command `ncu`.

Clocks are left as they are, caches are flushed before each replay, and one call is profiled after two unprofiled ones.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright.evaluate.profile.launches import Seen
from kernelwright.evaluate.profile.metrics import Metric, wanted
from kernelwright.evaluate.profile.ncu_output import Instance, Output

PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
"""Where it lies when PATH does not say."""
MOST_LAUNCHES = 64
"""Launches of one call that are profiled: each is replayed about ten times."""
LIMIT_S = 180.0
"""Longest that one run of ncu may take."""
TRIES = 4
"""Runs at most, since each may find metrics that this chip does not know."""
LOG = "ncu.csv"

DENIED = (
    "the driver keeps hardware counters from this user (ERR_NVGPUCTRPERM). Load the nvidia module with "
    "NVreg_RestrictProfilingToAdminUsers=0, or start the container with --cap-add SYS_ADMIN "
    "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
)
BUSY = "another tool holds the counters (DCGM, another profiler): pause it, for example with `dcgmi profile --pause`"


def find() -> str | None:
    """Path of the command; None where there is none."""
    return shutil.which("ncu") or next((p for p in PLACES if Path(p).exists()), None)


def command(tool: str, target: Sequence[str], capability: tuple[int, int], unknown: frozenset[str]) -> list[str]:
    """What to run, for a target that marks its one profiled call with cudaProfilerStart and cudaProfilerStop."""
    return [
        tool, "--csv", "--page", "raw", "--print-units", "base", "--log-file", LOG,
        "--target-processes", "all", "--replay-mode", "kernel", "--profile-from-start", "off",
        # The device's clocks are nobody's to set, and the caches are cold for the referee's clock as well.
        "--clock-control", "none", "--cache-control", "all",
        "--launch-count", str(MOST_LAUNCHES), "--metrics", ",".join(wanted(capability, unknown)), *target,
    ]  # fmt: skip


def seen_in(output: Output, capability: tuple[int, int], unknown: frozenset[str]) -> list[Seen]:
    """The profiled launches under our names."""
    asked = wanted(capability, unknown)
    return [_seen(instance, asked) for instance in output.instances]


def unanswered(output: Output, capability: tuple[int, int], unknown: frozenset[str]) -> frozenset[str]:
    """Names for which ncu printed no number for any kernel, of metrics that have another name to try."""
    asked = wanted(capability, unknown)
    answered = {name for instance in output.instances for name in instance.values}
    others = {name for name, m in asked.items() if len({*m.ncu, *m.blackwell} - unknown) > 1}
    return frozenset(others - answered) if output.instances else frozenset()


def refusal(output: Output) -> str:
    """Why there are no counters, with the cure; empty when there are."""
    if output.denied:
        return DENIED
    if output.busy and not output.instances:
        return BUSY
    return "" if output.instances else output.problem


def _seen(instance: Instance, asked: Mapping[str, Metric]) -> Seen:
    fields = {m.name: v * m.scale for name, m in asked.items() if (v := instance.values.get(name)) is not None}
    registers, shared = fields.get("registers"), fields.get("shared_bytes")
    return Seen(
        name=instance.kernel,
        duration_us=fields.pop("duration_us", None),
        grid=instance.grid,
        block=instance.block,
        registers=None if registers is None else round(registers),
        shared_bytes=None if shared is None else round(shared),
        fields=fields,
    )
