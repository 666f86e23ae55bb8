"""Calls one by one: packets of numbers, and a child that says too early that it is done."""

import ctypes
import os
import socket
import threading

import pytest

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox import handover, kernel, wire
from kernelwright.evaluate.sandbox.handover import Handover, WatchedHandover, packed, unpacked
from kernelwright.evaluate.sandbox.messages.base import Raised


@pytest.fixture
def ends():
    grader, child = wire.pair()
    grader.settimeout(10)
    yield grader, child
    grader.close()
    child.close()


def in_background(target, *arguments):
    thread = threading.Thread(target=target, args=arguments)
    thread.start()
    return thread


@pytest.mark.parametrize("numbers", [(), (0,), (1, -2, 1 << 62)])
def test_numbers_come_back(numbers):
    assert unpacked(packed(numbers)) == numbers
    assert packed(numbers), "an empty packet is the end of a socket"


@pytest.mark.parametrize("packet", [b"", b"1234567", packed((1, 2))[:-8], packed((1,)) + bytes(8)])
def test_what_is_no_packet_is_refused(packet):
    with pytest.raises(ValueError, match="packet"):
        unpacked(packet)


def test_a_call_is_told_when_the_one_before_is_done(ends):
    grader, child = ends
    log = []

    def compute(numbers):
        with pytest.raises(BlockingIOError):
            child.recv(handover.LIMIT, socket.MSG_DONTWAIT)
        log.append(numbers)
        return []

    thread = in_background(session.in_turn, child, 3, compute)
    handed = Handover(os.getpid(), [(1, 2), (3, 4), (5, 6)])
    assert handed.hand_over(grader) is None
    thread.join()
    assert log == [(1, 2), (3, 4), (5, 6)]
    assert handed.done == 3


def test_an_error_amid_the_calls_is_the_answer(ends):
    grader, child = ends
    in_background(lambda: (child.recv(99), wire.send(child, Raised(error="Odd")))).join(0)
    assert Handover(os.getpid(), [(1,), (2,)]).hand_over(grader) == b'{"error":"Odd","log":""}'


def test_the_end_of_the_child_is_told(ends):
    grader, child = ends
    child.close()
    with pytest.raises((EOFError, OSError)):
        Handover(os.getpid(), [(1,)]).hand_over(grader)


@pytest.mark.parametrize("late", [False, True])
def test_a_result_must_be_there_when_its_call_is_done(ends, late):
    grader, child = ends
    memory = (ctypes.c_float * 8)(*[-1.0] * 8)

    def compute(numbers):
        if not late:
            memory[numbers[0] * 4 : numbers[0] * 4 + 4] = [2.0] * 4
        return []

    address = ctypes.addressof(memory)
    handed = WatchedHandover(os.getpid(), [(0,), (1,)], [[(address, 4, 4)], [(address + 16, 4, 4)]])
    thread = in_background(session.in_turn, child, 2, compute)
    handed.hand_over(grader)
    thread.join()
    memory[:] = [2.0] * 8
    assert handed.changed() == (2 if late else 0)


def test_results_of_no_elements_are_not_looked_at(ends):
    grader, child = ends
    thread = in_background(session.in_turn, child, 1, lambda numbers: [])
    handed = WatchedHandover(os.getpid(), [(0,)], [[(8, 0, 4)]])
    handed.hand_over(grader)
    thread.join()
    assert handed.changed() == 0


def test_memory_that_is_not_there_is_no_answer_of_whoever_named_it(ends):
    grader, child = ends
    thread = in_background(session.in_turn, child, 1, lambda numbers: [8])
    with pytest.raises(ValueError, match="no result"):
        Handover(os.getpid(), [(0,)]).hand_over(grader)
    thread.join()


def test_memory_that_the_grader_named_and_that_is_gone_is_told_in_the_end(ends):
    grader, child = ends
    thread = in_background(session.in_turn, child, 1, lambda numbers: [])
    handed = WatchedHandover(os.getpid(), [(0,)], [[(8, 4, 4)]])
    handed.hand_over(grader)
    thread.join()
    assert handed.done == 1
    with pytest.raises(ValueError, match="no result"):
        handed.changed()


def test_memory_that_was_gone_when_it_was_looked_at_counts_as_late(ends, monkeypatch):
    grader, child = ends
    memory = (ctypes.c_float * 4)()
    address = ctypes.addressof(memory)
    thread = in_background(session.in_turn, child, 1, lambda numbers: [])
    handed = WatchedHandover(os.getpid(), [(0,)], [[(address, 4, 4)]])
    with monkeypatch.context() as gone:
        gone.setattr(kernel, "read_pieces", refused)
        handed.hand_over(grader)
    thread.join()
    assert handed.changed() == 1


def refused(*_):
    raise OSError(14, "Bad address")
