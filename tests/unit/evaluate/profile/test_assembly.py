"""Innermost loops in an assembly text: their width, and what each turn costs."""

import pytest

from kernelwright.evaluate.profile.assembly import innermost_loops

TEXT = """
kernel:
\t.loc 1 3 1
\txorl\t%eax, %eax
.L2:
\t.loc 1 5 9
\txorl\t%edx, %edx
.L4:
\t.loc 1 9 45 is_stmt 0
\tvmovups\t(%rax), %ymm0
\taddq\t$32, %rax
\tvfmadd213ps\t-112(%rbp), %ymm0, %ymm0
\tvmovaps\t%ymm0, -112(%rbp)
\tcmpq\t%rax, %r12
\tjne\t.L4
\tvzeroupper
.L5:
\t.loc 1 11 3
\tvxorps\t%xmm3, %xmm3, %xmm3
\tvmovaps\t%xmm1, %xmm0
\tcall\texpf@PLT
\tvdivss\t(%rcx), %xmm1, %xmm1
\tjne\t.L5
\tjb\t.L2
\tret
"""


def test_only_innermost_loops_are_told_the_widest_first():
    wide, scalar = innermost_loops(TEXT)
    assert (wide.line, wide.vector_bits, wide.instructions, wide.fma) == (9, 256, 6, 1)
    assert (wide.loads, wide.stores, wide.stack) == (2, 1, 2)
    assert (scalar.line, scalar.vector_bits, scalar.packed, scalar.scalar) == (11, 0, 0, 1)
    assert (scalar.divisions, scalar.calls, scalar.stack) == (1, 1, 0)


@pytest.mark.parametrize("text", ["", "kernel:\n\tret\n", "kernel:\n\tb.ne\t.L4\n", "\tjne\t.nowhere\n"])
def test_a_text_without_loops_has_none(text):
    assert innermost_loops(text) == ()
