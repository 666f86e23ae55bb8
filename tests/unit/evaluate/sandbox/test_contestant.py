"""What counts as an answer: a lying child is caught or read in vain, and never breaks the referee."""

import ctypes
import json
import os

import pytest
import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError, Reply
from kernelwright.evaluate.sandbox.contestant import (
    GUARD,
    GUARD_BYTE,
    ChildRaisedError,
    Contestant,
    Found,
    TamperedError,
)


class ScriptedChild:
    """A child in this very process, which answers what it was told to; errors are raised."""

    def __init__(self, answer):
        self.answer, self.pid, self.serial = answer, os.getpid(), 0
        self.questions, self.closed = [], False

    def ask(self, message, limit_s, descriptors=(), freeze=True, meanwhile=None):
        self.serial += 1
        self.questions.append((message, limit_s, list(descriptors)))
        if isinstance(self.answer, Exception):
            raise self.answer
        # Through JSON, as everything that a child says.
        return Reply(json.loads(json.dumps({"serial": self.serial, **self.answer})), 5_000, 4_000)

    def close(self):
        self.closed = True


def contestant(answer, limit_s=7.0):
    return Contestant(ScriptedChild(answer), limit_s)


def found_of(tensor):
    return Found(tensor.data_ptr(), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def test_an_honest_answer_is_taken_with_both_clocks():
    ran = contestant({"results": [[[4096, "float32", [2, 3]]], [[8192, "int64", []]]], "ns": 4000}).run(
        [(0,), (64,)], True
    )
    assert ran.results == ((Found(4096, "float32", (2, 3)),), (Found(8192, "int64", ()),))
    assert (ran.outside_ns, ran.inside_ns) == (5000, 4000)


def test_only_a_trusted_side_says_how_long_it_took_to_be_given_its_parameters():
    side = contestant({"results": [[]], "ns": 1000, "beside_ns": 3000})
    assert side.run([(0,)], checked=False).outside_ns == 5000
    side.trusted = "the reference"
    assert side.run([(0,)], checked=False).outside_ns == 2000


def test_the_question_is_put_as_it_was_meant():
    side = contestant({"results": [[]], "ns": 1})
    side.run([(0, 64)], checked=True, variant="eager")
    (message, limit_s, descriptors) = side.child.questions[0]
    assert message == {"do": "run", "calls": [[0, 64]], "variant": "eager"}
    assert (limit_s, descriptors) == (7.0, [])
    side.ask({"do": "load"}, [5], limit_s=1.5)
    assert side.child.questions[1] == ({"do": "load"}, 1.5, [5])


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"results": [[]]},
        {"ns": 1},
        {"results": None, "ns": 1},
        {"results": [], "ns": 1},
        {"results": [[], []], "ns": 1},
        {"results": [[[1, "float32"]]], "ns": 1},
        {"results": [[["here", "float32", []]]], "ns": 1},
        {"results": [[[1.5, "float32", []]]], "ns": 1},
        {"results": [[[-5, "float32", []]]], "ns": 1},
        {"results": [[[1 << 70, "float32", []]]], "ns": 1},
        {"results": [[[1, "float32", [-1]]]], "ns": 1},
        {"results": [[[1, "float32", [1 << 99]]]], "ns": 1},
        {"results": [[[1, "float32", "ab"]]], "ns": 1},
        {"results": [[]], "ns": "soon"},
        {"results": [[]], "ns": -1},
        {"results": [[]], "ns": 10**400},
        {"results": [[]], "ns": float("inf")},
        {"results": [[]], "ns": float("nan")},
    ],
    ids=lambda answer: json.dumps(answer)[:60],
)
def test_a_malformed_answer_is_tampering_and_not_our_crash(answer):
    with pytest.raises(TamperedError, match="malformed"):
        contestant(answer).run([(0,)], checked=False)


def test_a_clock_that_stands_still_shows_the_least_time_and_not_none():
    assert contestant({"results": [[]], "ns": 0}).run([(0,)], checked=False).inside_ns == 1


def test_an_answer_to_another_question_is_tampering():
    with pytest.raises(TamperedError, match="another question"):
        contestant({"serial": -1}).ask({"do": "load"})


def test_foreign_exceptions_are_told_with_text_that_can_be_stored():
    with pytest.raises(ChildRaisedError) as raised:
        contestant({"error": "Odd\ud800Error", "log": "half a pair: \udfff"}).ask({"do": "load"})
    assert raised.value.name == "Odd?Error"
    assert raised.value.log == "half a pair: ?"


def test_a_dtype_that_nobody_knows_is_only_a_word():
    ran = contestant({"results": [[[0, "complex\ud800", []]]], "ns": 1}).run([(0,)], checked=False)
    assert ran.results[0][0].dtype == "complex?"


@pytest.mark.parametrize(
    "error", [ChildGoneError("killed by SIGSEGV", "last words"), ChildSlowError(), TamperedError("lied")]
)
def test_what_a_trusted_side_does_wrong_is_the_referee_s(error):
    side = contestant(error)
    with pytest.raises(type(error)):
        side.ask({"do": "draw"})
    side.trusted = "the reference of 'mse'"
    with pytest.raises(RefereeError, match="the reference of 'mse' failed"):
        side.ask({"do": "draw"})


# --- reading memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 2)])
def test_results_are_copied_out(dtype, shape):
    there = torch.arange(12)[: torch.Size(shape).numel()].view(shape).to(dtype)
    here = contestant({}).read(found_of(there))
    assert here.dtype == dtype
    assert torch.equal(here, there)
    assert not there.numel() or here.data_ptr() != there.data_ptr()


def test_parts_are_read_flat_one_behind_the_other():
    there = torch.arange(12.0).view(3, 4)
    assert contestant({}).read_parts(found_of(there), [(2, 3), (9, 2), (0, 0), (0, 1)]).tolist() == [2, 3, 4, 9, 10, 0]


def test_more_parts_are_read_than_one_call_takes():
    there = torch.arange(10_000)
    parts = [(i, 2) for i in range(0, 9_000, 3)]
    wanted = torch.cat([there.narrow(0, *part) for part in parts])
    assert torch.equal(contestant({}).read_parts(found_of(there), parts), wanted)


def test_a_part_that_is_not_there_is_tampering():
    there = torch.arange(4)
    with pytest.raises(TamperedError, match="no result"):
        contestant({}).read_parts(found_of(there), [(0, 4), (1 << 44, 4)])


@pytest.mark.parametrize("address", [0, 8, (1 << 62) - 1, 1 << 47])
def test_memory_that_is_not_there_is_tampering(address):
    with pytest.raises(TamperedError, match="no result"):
        contestant({}).read(Found(address, "float32", (4,)))


@pytest.mark.parametrize("where", [None, 0, GUARD - 1, GUARD + 16, 2 * GUARD + 15])
def test_a_write_beside_a_result_is_seen(where):
    memory = (ctypes.c_ubyte * (2 * GUARD + 16))(*[GUARD_BYTE] * (2 * GUARD + 16))
    ctypes.memset(ctypes.addressof(memory) + GUARD, 7, 16)
    if where is not None:
        memory[where] ^= 1
    found = Found(ctypes.addressof(memory) + GUARD, "float32", (4,))
    assert contestant({}).guards_intact(found) == (where is None)


def test_closing_ends_the_child():
    side = contestant({})
    side.close()
    assert side.child.closed
