"""The assembler's words, parsed."""

from kernelwright.evaluate.triton.cubin import compiler_message, registers, spill_bytes


def test_registers_are_those_of_the_thread():
    assert registers("ptxas info    : Used 26 registers, used 1 barriers, 400 bytes cmem[0]") == 26
    assert registers("") is None


def test_spills_count_stores_and_loads():
    log = "32 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads"
    assert spill_bytes(log) == 64
    assert spill_bytes("") is None


def test_a_message_loses_commands_and_paths():
    text = "`ptxas` failed\nptxas /some/where/tmpab12_x.ptx, line 4; error : too big\n  \nRepro command: ptxas"
    assert compiler_message(text) == "`ptxas` failed\nptxas kernel.ptx, line 4; error : too big"
