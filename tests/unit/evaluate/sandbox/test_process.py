"""What counts as an answer: a lying child is caught or read in vain, and never breaks the referee."""

import ctypes
import json
import os

import pytest
import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cpu.process import HostReference
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError, Response
from kernelwright.evaluate.sandbox.compute_process import GUARD, GUARD_BYTE
from kernelwright.evaluate.sandbox.messages.base import MalformedError, read_answer
from kernelwright.evaluate.sandbox.messages.calls import Found, Run, TakeParameters
from kernelwright.evaluate.sandbox.process import LOG, ChildRaisedError, TamperedError


class ScriptedChild:
    """A child in this very process, which answers what it was told to; errors are raised."""

    def __init__(self, answer):
        self.answer, self.pid, self.serial = answer, os.getpid(), 0
        self.questions, self.closed = [], False

    def ask(self, command, limit_s, freeze=True, meanwhile=None):
        self.serial += 1
        self.questions.append((command, limit_s))
        if isinstance(self.answer, Exception):
            raise self.answer
        # Through JSON, as everything that a child says.
        answer = {"serial": self.serial, **self.answer}
        return Response(read_answer(json.dumps(answer).encode(), command), 5_000, 4_000)

    def close(self):
        self.closed = True


def replies(**reply):
    return process({"reply": reply})


def process(answer, limit_s=7.0):
    return HostReference(ScriptedChild(answer), limit_s)


def found_of(tensor):
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Found(address=tensor.data_ptr(), dtype=dtype, shape=tuple(tensor.shape))


def found(address=1, dtype="float32", shape=()):
    return {"address": address, "dtype": dtype, "shape": list(shape)}


def test_an_honest_answer_is_taken_with_both_clocks():
    side = replies(results=[[found(4096, shape=(2, 3))], [found(8192, "int64")]], ns=4000)
    ran = side.run([(0,), (64,)], True)
    assert ran.results == (
        (Found(address=4096, dtype="float32", shape=(2, 3)),),
        (Found(address=8192, dtype="int64", shape=()),),
    )
    assert (ran.outside_ns, ran.inside_ns) == (5000, 4000)


def test_only_a_trusted_side_says_how_long_it_took_to_be_given_its_parameters():
    side = replies(results=[[]], ns=1000, beside_ns=3000)
    assert side.run([(0,)], checked=False).outside_ns == 5000
    side.trust("the reference")
    assert side.run([(0,)], checked=False).outside_ns == 2000


def test_the_question_is_put_as_it_was_meant():
    side = replies(results=[[]], ns=1)
    side.run([(0, 64)], checked=True, variant="eager")
    assert side.child.questions[0] == (Run(calls=((0, 64),), variant="eager"), 7.0)
    side.compute([(0,)], "compile", limit_s=1.5)
    assert side.child.questions[1] == (Run(calls=((0,),), variant="compile"), 1.5)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"reply": None},
        {"reply": {}},
        {"reply": {"results": [[]]}},
        {"reply": {"ns": 1}},
        {"reply": {"ns": 1}, "more": 1},
        {"reply": {"ns": 1, "results": [[]]}, "raised": {"error": "E"}},
        {"raised": {"log": "no name"}},
        {"raised": {"error": ["E"]}},
        {"serial": "1", "reply": {"ns": 1, "results": [[]]}},
        {"serial": -1, "reply": {"ns": 1, "results": [[]]}},
        {"reply": {"results": None, "ns": 1}},
        {"reply": {"results": [], "ns": 1}},
        {"reply": {"results": [[], []], "ns": 1}},
        {"reply": {"results": [[[1, "float32"]]], "ns": 1}},
        {"reply": {"results": [[{"address": 1, "dtype": "float32"}]], "ns": 1}},
        {"reply": {"results": [[found("here")]], "ns": 1}},
        {"reply": {"results": [[found(1.5)]], "ns": 1}},
        {"reply": {"results": [[found(-5)]], "ns": 1}},
        {"reply": {"results": [[found(True)]], "ns": 1}},
        {"reply": {"results": [[found(1 << 70)]], "ns": 1}},
        {"reply": {"results": [[found(dtype=5)]], "ns": 1}},
        {"reply": {"results": [[found(shape=[-1])]], "ns": 1}},
        {"reply": {"results": [[found(shape=[1 << 99])]], "ns": 1}},
        {"reply": {"results": [[found(shape=[1] * 65)]], "ns": 1}},
        {"reply": {"results": [[found(shape="ab")]], "ns": 1}},
        {"reply": {"results": [[]], "ns": "soon"}},
        {"reply": {"results": [[]], "ns": -1}},
        {"reply": {"results": [[]], "ns": 10**400}},
        {"reply": {"results": [[]], "ns": float("inf")}},
        {"reply": {"results": [[]], "ns": float("nan")}},
    ],
    ids=lambda answer: json.dumps(answer)[:70],
)
def test_a_malformed_answer_is_tampering_and_not_our_crash(answer):
    with pytest.raises(TamperedError, match="malformed"):
        process(answer).run([(0,)], checked=False)


def test_a_malformed_answer_is_told_with_its_command_and_field():
    with pytest.raises(TamperedError, match=r"answer to run: reply\.results\.0\.0\.shape\.1: .*valid integer"):
        replies(results=[[found(shape=[1, "x"])]], ns=1).run([(0,)], checked=False)


def test_a_clock_that_stands_still_shows_the_least_time_and_not_none():
    assert replies(results=[[]], ns=0).run([(0,)], checked=False).inside_ns == 1


def test_an_answer_to_another_question_is_tampering():
    with pytest.raises(TamperedError, match="another question"):
        process({"serial": 7, "reply": {}}).ask(TakeParameters(offsets=()))


def test_foreign_exceptions_are_told():
    with pytest.raises(ChildRaisedError) as raised:
        process({"raised": {"error": "OddError", "log": "x" * (LOG + 5) + "end"}}).ask(TakeParameters(offsets=()))
    assert raised.value.name == "OddError"
    assert raised.value.log.endswith("xend")
    assert len(raised.value.log) == LOG


@pytest.mark.parametrize(("told", "name"), [("fault build", "fault build"), ("x\nmeasured", "'x\\nmeasured'")])
def test_the_name_of_a_foreign_exception_has_no_lines_of_its_own(told, name):
    with pytest.raises(ChildRaisedError) as raised:
        process({"raised": {"error": told, "log": ""}}).ask(TakeParameters(offsets=()))
    assert raised.value.name == name


def test_a_dtype_that_nobody_knows_is_only_a_word():
    ran = replies(results=[[found(dtype="complex?")]], ns=1).run([(0,)], checked=False)
    assert ran.results[0][0].dtype == "complex?"


@pytest.mark.parametrize(
    "error", [ChildGoneError("killed by SIGSEGV", "last words"), ChildSlowError(1.0), TamperedError("lied")]
)
def test_what_a_trusted_side_does_wrong_is_the_referee_s(error):
    side = process(error)
    with pytest.raises(type(error)):
        side.ask(TakeParameters(offsets=()))
    side.trust("the reference of 'mse'")
    with pytest.raises(RefereeError, match="the reference of 'mse' failed"):
        side.ask(TakeParameters(offsets=()))


def test_a_malformed_answer_of_a_trusted_side_is_the_referee_s():
    side = process(MalformedError("answer to run: ns"))
    side.trust("the reference of 'mse'")
    with pytest.raises(RefereeError, match="the reference of 'mse' failed"):
        side.ask(TakeParameters(offsets=()))


# --- reading memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 2)])
def test_results_are_copied_out(dtype, shape):
    there = torch.arange(12)[: torch.Size(shape).numel()].view(shape).to(dtype)
    here = process({}).read(found_of(there))
    assert here.dtype == dtype
    assert torch.equal(here, there)
    assert not there.numel() or here.data_ptr() != there.data_ptr()


def test_parts_are_read_flat_one_behind_the_other():
    there = torch.arange(12.0).view(3, 4)
    assert process({}).read_parts(found_of(there), [(2, 3), (9, 2), (0, 0), (0, 1)]).tolist() == [2, 3, 4, 9, 10, 0]


def test_more_parts_are_read_than_one_call_takes():
    there = torch.arange(10_000)
    parts = [(i, 2) for i in range(0, 9_000, 3)]
    wanted = torch.cat([there.narrow(0, *part) for part in parts])
    assert torch.equal(process({}).read_parts(found_of(there), parts), wanted)


def test_a_part_that_is_not_there_is_tampering():
    there = torch.arange(4)
    with pytest.raises(TamperedError, match="no result"):
        process({}).read_parts(found_of(there), [(0, 4), (1 << 44, 4)])


@pytest.mark.parametrize("address", [0, 8, (1 << 62) - 1, 1 << 47])
def test_memory_that_is_not_there_is_tampering(address):
    with pytest.raises(TamperedError, match="no result"):
        process({}).read(Found(address=address, dtype="float32", shape=(4,)))


@pytest.mark.parametrize("where", [None, 0, GUARD - 1, GUARD + 16, 2 * GUARD + 15])
def test_a_write_beside_a_result_is_seen(where):
    memory = (ctypes.c_ubyte * (2 * GUARD + 16))(*[GUARD_BYTE] * (2 * GUARD + 16))
    ctypes.memset(ctypes.addressof(memory) + GUARD, 7, 16)
    if where is not None:
        memory[where] ^= 1
    found = Found(address=ctypes.addressof(memory) + GUARD, dtype="float32", shape=(4,))
    assert process({}).guards_intact(found) == (where is None)


def test_closing_ends_the_child():
    side = process({})
    side.close()
    assert side.child.closed


@pytest.mark.parametrize(
    ("name", "log", "full"),
    [
        ("OutOfMemoryError", "torch.OutOfMemoryError: CUDA out of memory.", True),
        ("AcceleratorError", "torch.AcceleratorError: CUDA error: out of memory\nSearch for ...", True),
        ("RuntimeError", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", True),
        ("AcceleratorError", "torch.AcceleratorError: CUDA error: misaligned address", False),
    ],
)
def test_a_full_device_is_known_whoever_found_it_full(name, log, full):
    assert ChildRaisedError(name, log).full == full
