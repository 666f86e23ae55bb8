"""What a prompt says of the device: the one that is there, by what was measured and by its own sheet.

Where no sheet has the device, only the limits that its architecture sets are told, and no other device's bandwidth.
"""

from kernelwright.devices import kinds
from kernelwright.knowledge.hardware import Hardware, architectures, hardware, sheet
from kernelwright.records.base import Record
from kernelwright.records.run import Device, Environment
from kernelwright.records.task import Task

EDGE_GBPS = 400.0
"""Devices with less memory bandwidth than this are told to be small ones."""
_SOFTWARE = {"gpu": ("torch", "triton", "cuda toolkit of torch", "nvrtc", "driver"), "cpu": ("torch", "c++")}
"""Versions that decide what a kernel may use, by their names in `Environment.versions`."""


class HardwareWords(Record):
    """What is known of the device, and what the task's author allows of it."""

    facts: str
    limits: tuple[str, ...] = ()


def describe_hardware(task: Task, environment: Environment | None) -> HardwareWords:
    """Facts of the device that kernels are for; measured figures only of a device that is here."""
    here, gpu = environment if task.target.present else None, kinds()[task.target.kind].gpu
    lines = _gpu(task, here) if gpu else _cpu(here)
    lines += _floor(task, here.device) if here else []
    lines += [f"precision flags: {task.numerics.words}"] if task.numerics.flags and gpu else []
    named = _SOFTWARE["gpu" if gpu else "cpu"]
    versions = (
        [f"{name} {environment.versions[name]}" for name in named if name in environment.versions]
        if environment
        else []
    )
    lines += [f"software: {', '.join(versions)}"] if versions else []
    limits = task.source.limits
    given = limits.model_dump(mode="json", exclude={"notes"}, exclude_defaults=True)
    words = (*(f"{name.replace('_', ' ')}: {value}" for name, value in given.items()), *limits.notes)
    return HardwareWords(facts="\n".join(lines), limits=words)


def _cpu(here: Environment | None) -> list[str]:
    if here is None:
        return ["CPU, this machine's own"]
    device = here.device
    vectors = f", vectors of {device.vector_bits} bits" if device.vector_bits else ""
    levels = ", ".join(f"L{number} {size}" for number, size in enumerate(device.caches, start=1))
    measured = f"memory bandwidth, measured by reading: {device.memory_gbps:.1f} GB/s" if device.memory_gbps else ""
    lines = [
        f"device: {device.name}, {device.cores} cores{vectors}; this machine's own",
        f"caches, bytes on all cores together: {levels}" if levels else "",
        measured,
        "compiled with -O3 -march=native -fopenmp; all cores are the kernel's while it is timed",
    ]
    return [line for line in lines if line]


def _gpu(task: Task, here: Environment | None) -> list[str]:
    target = task.target
    if target.arch not in architectures():
        return [f"architecture: {target.arch}; nothing more is known of it"]
    common = hardware(target.arch)
    if here is not None:
        return _present(here.device, common)
    if target.device:
        asked = sheet(target.device) or common
        size = "edge" if asked.bandwidth_gbps < EDGE_GBPS else "workstation or server"
        return [f"device: {asked.device}, {asked.arch} ({size}); not here; published figures", *_published(asked)]
    return [f"architecture: {target.arch}; its figures are those of the {common.device}", *_published(common)]


def _present(device: Device, common: Hardware) -> list[str]:
    found = sheet(device.name)
    facts = found if found is not None and found.arch == common.arch else None
    measured = f"{device.memory_gbps:.0f} GB/s measured by reading" if device.memory_gbps else ""
    published = f"{facts.bandwidth_gbps:g} GB/s published" if facts else ""
    bandwidth = "; ".join(filter(None, (measured, published)))
    return [
        f"device: {device.name}, {common.arch}; this machine's own",
        f"multiprocessors: {device.cores}",
        *_multiprocessor(common),
        f"memory bandwidth: {bandwidth}" if bandwidth else "",
        f"last-level cache: {device.cache_bytes} bytes" if device.cache_bytes else "",
        *([_peaks(facts)] if facts else []),
    ]


def _published(facts: Hardware) -> list[str]:
    return [
        f"multiprocessors: {facts.multiprocessors}",
        *_multiprocessor(facts),
        f"memory bandwidth: {facts.bandwidth_gbps:g} GB/s; last-level cache: {facts.cache_bytes} bytes",
        _peaks(facts),
    ]


def _multiprocessor(facts: Hardware) -> list[str]:
    words = kinds()[facts.kind].words
    return [
        f"a warp is {facts.warp} threads, a block at most {facts.threads_block}",
        f"resident on one multiprocessor: at most {facts.warps} warps, {facts.blocks} blocks",
        f"registers of one multiprocessor: {facts.registers}, at most {facts.registers_thread} for a thread",
        f"shared memory: {facts.shared_bytes} bytes a multiprocessor, at most {facts.shared_bytes_block} for a block",
        *([f"it has: {'; '.join(facts.can)}"] if facts.can else []),
        *([words] if words else []),
    ]


def _peaks(facts: Hardware) -> str:
    peaks = {"fp32": facts.fp32_tflops, "tf32": facts.tf32_tflops, "bf16": facts.bf16_tflops}
    known = ", ".join(f"{name} {value:g}" for name, value in peaks.items() if value is not None)
    return f"peak, published, dense, 10^12 operations a second: {known}"


def _floor(task: Task, device: Device) -> list[str]:
    if not device.memory_gbps:
        return []
    size = task.workload.compulsory_bytes
    least = size / device.memory_gbps / 1e3
    cached = " (less where a cache holds them)" if size < device.cache_bytes else ""
    return [f"reading and writing the {size} compulsory bytes once takes at least {least:.2f} us{cached}"]
