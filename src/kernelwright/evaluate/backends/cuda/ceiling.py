"""What this GPU can do at most: the driver's theoretical bandwidth for floors, a yardstick kernel for the ceiling.

The floor divides compulsory bytes by the *theoretical* bandwidth, which no kernel reaches; data that fits the L2 may come
from there, at several times that.
"""

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.cuda_arena import check
from kernelwright.records.candidate import Candidate

L2_ADVANTAGE = 6.0
"""Most that an L2 is faster than its device memory, generously."""
FLOPS_PER_CYCLE = 8192
"""Operations one multiprocessor can do in a cycle on its fastest pipe that a tolerance could admit, generously."""
YARDSTICK_BYTES = 8 << 30

YARDSTICK = '''\
"""Reads its input once and keeps one sum a program: the most that reading can reach."""

import torch
import triton
import triton.language as tl

BLOCK = 8192
PROGRAMS_PER_SM = 4


@triton.jit
def read(x, out, count, stride, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, count, stride):
        total += tl.load(x + start + lanes, eviction_policy="evict_first")
    tl.store(out + program, tl.sum(total))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        programs = torch.cuda.get_device_properties(0).multi_processor_count * PROGRAMS_PER_SM
        out = torch.empty(programs, device=x.device)
        read[(programs,)](x, out, x.numel(), programs * BLOCK, BLOCK, num_warps=8)
        return out
'''


def yardstick() -> Candidate:
    """The kernel that the ceiling is measured with."""
    return Candidate(language="triton", source=YARDSTICK)


def theoretical_gbps() -> float:
    """10^9 bytes a second, from the driver's memory clock and bus width (two transfers a clock)."""
    attribute = driver.CUdevice_attribute
    clock_khz = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0))
    bits = check(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0))
    return float(2 * clock_khz * 1e3 * bits / 8 / 1e9)


def floor_us(size: int, flops: int) -> float:
    """Microseconds that no honest kernel can undercut."""
    device = torch.cuda.get_device_properties(0)
    gbps = theoretical_gbps() * (L2_ADVANTAGE if size < 2 * device.L2_cache_size else 1.0)
    hertz = 2.2e9
    arithmetic = flops / (device.multi_processor_count * FLOPS_PER_CYCLE * hertz) * 1e6
    return float(max(size / gbps / 1e3, arithmetic))
