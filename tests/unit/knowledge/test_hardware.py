"""Hardware facts and occupancy, against values that vendors' calculators give."""

import pytest

from kernelwright.errors import MachineError
from kernelwright.knowledge.hardware import BlockShape, architectures, hardware, occupancy, resident_blocks

KIB = 1024


def test_every_architecture_is_listed_and_consistent():
    nvidia = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
    assert architectures() == (*nvidia, "gfx90a", "gfx942")
    for arch in architectures():
        device = hardware(arch)
        assert device.shared_bytes_block <= device.shared_bytes
        assert device.blocks <= device.warps
        assert device.fp32_tflops <= (device.tf32_tflops or device.fp32_tflops)
        assert device.bandwidth_gbps > 100


def test_unknown_architecture_names_the_known_ones():
    with pytest.raises(MachineError, match=r"'sm_70'.*sm_75.*sm_120"):
        hardware("sm_70")


@pytest.mark.parametrize(
    ("arch", "capability"),
    [
        ("sm_75", (7, 5)),
        ("sm_90", (9, 0)),
        ("sm_100", (10, 0)),
        ("sm_120", (12, 0)),
        ("gfx90a", (9, 0)),
        ("gfx942", (9, 4)),
    ],
)
def test_capability(arch, capability):
    assert hardware(arch).capability == capability


def test_no_two_architectures_have_one_number():
    assert len({hardware(arch).number for arch in architectures()}) == len(architectures())


@pytest.mark.parametrize(
    ("arch", "block", "expected"),
    [
        ("sm_90", BlockShape(warps=4, registers=255), 8 / 64),
        ("sm_90", BlockShape(warps=4, registers=32), 1.0),
        ("sm_90", BlockShape(warps=4, registers=33), 48 / 64),  # allocated as 40
        ("sm_90", BlockShape(warps=4, registers=64), 32 / 64),
        ("sm_90", BlockShape(warps=32, registers=64), 32 / 64),
        ("sm_90", BlockShape(warps=32, registers=65), 0.0),  # 72 x 1024 exceeds the register file
        ("sm_90", BlockShape(warps=1, registers=16), 32 / 64),  # 32 blocks at most
        ("sm_90", BlockShape(warps=8, registers=32, shared_bytes=227 * KIB), 8 / 64),
        ("sm_90", BlockShape(warps=8, registers=32, shared_bytes=113 * KIB), 16 / 64),
        ("sm_90", BlockShape(warps=8, registers=32, shared_bytes=227 * KIB + 1), 0.0),
        ("sm_80", BlockShape(warps=4, registers=32, shared_bytes=40 * KIB), 16 / 64),
        ("sm_80", BlockShape(warps=4, registers=32, shared_bytes=41 * KIB), 12 / 64),
        ("sm_86", BlockShape(warps=4, registers=40), 1.0),
        ("sm_86", BlockShape(warps=32, registers=32), 32 / 48),
        ("sm_89", BlockShape(warps=1, registers=24), 24 / 48),
        ("sm_75", BlockShape(warps=4, registers=64), 1.0),
        ("sm_75", BlockShape(warps=4, registers=64, shared_bytes=32 * KIB), 8 / 32),
        ("gfx942", BlockShape(warps=4, registers=64), 1.0),
        ("gfx942", BlockShape(warps=4, registers=65), 28 / 32),  # seven wavefronts on each of four units
        ("gfx942", BlockShape(warps=4, registers=512), 4 / 32),
        ("gfx90a", BlockShape(warps=4, registers=513), 0.0),
        ("gfx90a", BlockShape(warps=4, registers=32, shared_bytes=32 * KIB), 8 / 32),
        ("gfx90a", BlockShape(warps=4, registers=32, shared_bytes=32 * KIB + 1), 4 / 32),
    ],
)
def test_occupancy(arch, block, expected):
    assert occupancy(hardware(arch), block) == expected


def test_more_registers_never_raise_occupancy():
    device = hardware("sm_90")
    blocks = [resident_blocks(device, BlockShape(warps=4, registers=r)) for r in range(1, 256)]
    assert blocks == sorted(blocks, reverse=True)
