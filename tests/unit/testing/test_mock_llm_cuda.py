"""The mock server in CUDA C++: where the prompt asks for it, of tasks of which a person wrote a kernel."""

import random

import pytest
from chat_requests import CUDA, LATENCY, MISMATCH, code, post, prompt, request, say

from kernelwright.tasks.kernel_file import parse_text
from mock_llm import Faults, MockLLMServer
from mock_llm.breakage import broken
from mock_llm.cuda import LAUNCHES, CudaWriter
from mock_llm.faults import BROKEN

KERNEL = """/* kernelwright
[[launch]]
kernel = "absolute"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(out0.numel)"]
*/

__global__ void absolute(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  y[i] = fabsf(x[i]);
}
"""
REPLY = "One fenced block:\n\n```cuda\nkernel\n```"
CLEAN = Faults(rate=0)


def asked(**sections):
    return prompt(task=CUDA, **sections).rsplit("## Reply", 1)[0] + f"## Reply\n\n{REPLY}"


def candidate(text):
    return f"Attempt 0, in cuda.\n\n```cuda\n{text}\n```"


@pytest.fixture
def server():
    with MockLLMServer([CUDA], seed=3, faults=CLEAN, cuda={CUDA.name: KERNEL}) as found:
        yield found


def test_it_writes_what_is_asked_for(server):
    assert "__global__" in code(say(server, asked()))
    triton = asked().replace("```cuda\nkernel", "```python\nkernel")
    assert "@triton.jit" in say(server, triton)


def test_without_a_persons_kernel_it_writes_triton():
    with MockLLMServer([CUDA], seed=3, faults=CLEAN) as server:
        assert "@triton.jit" in say(server, asked())


def test_a_first_kernel_waits_and_a_named_bottleneck_lifts_what_it_names(server):
    first = code(say(server, asked()))
    made = parse_text(first, "cuda", "cuda")
    assert len(made.recipe.launches) == 1 + LAUNCHES
    assert "sqrtf(wait" in first
    lifted = code(say(server, asked(candidate=candidate(first), profile=LATENCY)))
    assert "sqrtf(wait" not in lifted
    assert lifted.count('kernel = "touch"') == LAUNCHES
    launch = "Bottleneck: launch.\n\n```text\n1. Overhead-bound: the call takes 310.0.\n```"
    best = code(say(server, asked(candidate=candidate(lifted), profile=launch)))
    assert best.replace(best.splitlines()[best.splitlines().index("*/") + 1], "").split() == KERNEL.split()


@pytest.mark.parametrize("kind", BROKEN)
def test_each_fault_changes_one_line(kind):
    source = CudaWriter(CUDA, KERNEL).kernel(())
    found = broken(source, True, kind, random.Random(0))
    changed = set(found.source.splitlines()) - set(source.splitlines())
    assert len(changed) == 1
    assert found.fault.kind == kind


def test_threads_go_on_beyond_the_last_element_and_stop_where_that_is_told():
    faults = Faults(rate=1, kinds=("dropped_term",))
    with MockLLMServer([CUDA], seed=3, faults=faults, cuda={CUDA.name: KERNEL}) as server:
        first = code(say(server, asked()))
        assert "if (i >= n + " in first
        told = asked(candidate=candidate(first), mismatch=MISMATCH)
        assert "if (i >= n) return" in code(say(server, told))
        assert [s.kind for s in server.served] == ["seed", "mended"]
        assert post(server, request(told)) == post(server, request(told))


def test_a_sum_is_spoiled_where_it_is_added_up():
    source = KERNEL.replace("y[i] = fabsf(x[i]);", "atomicAdd(y, fabsf(x[i]));")
    found = broken(source, True, "wrong_constant", random.Random(0))
    assert "  atomicAdd(y, 1.0625 * fabsf(x[i]));" in found.source
