"""Answers that no honest child gives, and a task that would pass a copy. Cheats with a twin are in `defended`."""

import pytest

import calm
from kernelwright.errors import TaskError


def honest(bench):
    source = 'extern "C" void kernel(const float* x, float* out) { work(x, out); }'
    return calm.until(lambda: bench.judge(source, "affine"), lambda found: found.outcome == "measured")


@pytest.fixture(scope="module")
def honest_us(bench):
    return honest(bench).timing.latency_us


@pytest.mark.parametrize("answer", [
    '{"serial": message.serial, "reply": {"results": [], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=0, dtype="float32", shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=1e400, dtype="float32", shape=[64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=-1, dtype="float32", shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": "a string", "ns": None}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=9, dtype="no dtype", shape=[2**70])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=9, dtype=[], shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"ns": 1}, "raised": {"error": "E"}}',
    '{"serial": message.serial, "reply": [message.serial] * 100000}',
    '{"serial": message.serial}',
    "b'no JSON'", "b'[1]'", "b'[' * 100000", "b'\\\\xff' * 1000", "b'9' * 100000",
])  # fmt: skip
def test_no_answer_breaks_the_referee(bench, honest_us, answer):
    source = f"""
    extern "C" void kernel(const float* x, float* out) {{
        work(x, out);
        python("import json\\n"
               "from kernelwright.evaluate.sandbox import wire\\n"
               "def send(end, message, descriptors=()):\\n"
               "    answer = {answer.replace('"', chr(39))}\\n"
               "    end.send(answer if isinstance(answer, bytes) else json.dumps(answer).encode())\\n"
               "wire.send = send\\n");
    }}
    """
    found = bench.judge(source, "affine")
    # A time of its own is an answer like any other where the clock is outside: it is not believed, and gains nothing.
    unmoved = found.outcome == "measured" and found.timing.latency_us > honest_us
    assert unmoved or found.outcome in ("suspect", "crashed", "incorrect"), found


def test_after_all_these_answers_an_honest_kernel_is_measured(bench):
    assert honest(bench).outcome == "measured"


@pytest.mark.defence("admission")
def test_a_task_whose_answer_is_its_input(bench):
    """The square of a square root is what it was drawn of, on all that the root is defined for: no kernel says anything."""
    copy = 'extern "C" void kernel(const float* x, float* out) { std::memcpy(out, x, 16384); }'
    with pytest.raises(TaskError, match="the input itself would pass"):
        bench.judge(copy, "rooted")
    assert bench.judge(copy, "rooted", disabled=("admission",)).outcome == "measured"
