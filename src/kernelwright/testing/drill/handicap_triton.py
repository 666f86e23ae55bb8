"""Triton kernels of the author with handicaps. None changes a result.

Decides where a handicap's lines go. What must be known before the source is written (the grid) is a change of the schedule.
"""

import re
from collections.abc import Collection

from kernelwright.propose.author.schedule.triton import TritonSchedule

FEW, CHAIN, LAUNCHES = 12, 4000, 96
"""Programs on the whole device; square roots one after another; launches of a kernel that does next to nothing."""
DOCSTRING = re.compile(r'(@triton\.jit\ndef _kernel\(.*?\):\n    """[^"]*"""\n)', re.DOTALL)
INSIDE = re.compile(r"^(\s*inside = )(.+)$", re.MULTILINE)
CALL = re.compile(r"^(    with torch\.cuda\.device_of\(\w+\):\n)", re.MULTILINE)
ALLOCATED = re.compile(r"^    (\w+) = torch\.empty\(", re.MULTILINE)
WAIT = f"""    wait = tl.program_id(0).to(tl.float32)
    for _ in tl.range(0, {CHAIN}):
        wait = tl.sqrt(wait + 1.0)
"""
TOUCH = '''@triton.jit
def _touch(out_ptr):
    """Write one element that is written again later."""
    tl.store(out_ptr, 0.0)


def _programs('''


def settled(schedule: TritonSchedule, names: Collection[str]) -> TritonSchedule:
    """The schedule that a handicap needs."""
    return schedule.model_copy(update={"grid": "persistent"}) if "few_programs" in names else schedule


def slowed(source: str, names: Collection[str]) -> str:
    """The source with handicaps."""
    if "few_programs" in names:
        source = source.replace("return min(tiles, WAVES * count)", f"return min(tiles, {FEW})")
    if "dependent_chain" in names:
        source = DOCSTRING.sub(lambda m: m.group(1) + WAIT, source, count=1)
        source = INSIDE.sub(r"\1(\2) & (wait >= 0.0)", source)
    allocated = ALLOCATED.search(source)
    if "extra_launches" in names and allocated is not None:
        source = source.replace("def _programs(", TOUCH, 1)
        calls = f"        for _ in range({LAUNCHES}):\n            _touch[(1,)]({allocated.group(1)}, num_warps=1)\n"
        source = CALL.sub(lambda m: m.group(1) + calls, source, count=1)
    return source
