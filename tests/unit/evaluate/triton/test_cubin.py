"""The assembler's words, parsed."""

from kernelwright.evaluate.triton.cubin import Usage, compiler_message, parse_usage, spill_bytes

RESOURCES = """
Resource usage:
 Common:
  GLOBAL:0
 Function other:
  REG:10 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:388 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function wanted:
  REG:255 STACK:32 SHARED:1024 LOCAL:16 CONSTANT[0]:388 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def test_usage_is_of_the_named_kernel():
    assert parse_usage(RESOURCES, "wanted") == Usage(registers=255, stack_bytes=32, local_bytes=16, shared_bytes=1024)
    assert parse_usage(RESOURCES, "absent") is None


def test_spills_count_stores_and_loads():
    log = "32 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads"
    assert spill_bytes(log) == 64
    assert spill_bytes("") is None


def test_a_message_loses_commands_and_paths():
    text = "`ptxas` failed\nptxas /some/where/tmpab12_x.ptx, line 4; error : too big\n  \nRepro command: ptxas"
    assert compiler_message(text) == "`ptxas` failed\nptxas kernel.ptx, line 4; error : too big"
