"""Packets: whole or absent, with descriptors, and read as what they must be."""

import os
import socket
from pathlib import Path

import pytest

from kernelwright.evaluate.sandbox import wire
from kernelwright.evaluate.sandbox.messages.entrypoints import Born, Status
from kernelwright.records.base import Record


def opened_files():
    return len(list(Path("/proc/self/fd").iterdir()))


class Words(Record):
    """A message as long as one likes."""

    text: str


@pytest.fixture
def ends():
    ours, theirs = wire.pair()
    with ours, theirs:
        yield ours, theirs


def test_a_message_arrives_as_it_was_sent(ends):
    wire.send(ends[0], Born(pid=5, group=-1, alone=True))
    assert wire.receive(ends[1], Born) == Born(pid=5, group=-1, alone=True)


def test_packets_keep_their_borders(ends):
    for code in range(5):
        wire.send(ends[0], Status(code=code))
    assert [wire.receive(ends[1], Status).code for _ in range(5)] == list(range(5))


@pytest.mark.parametrize("size", [1, 200_000])
def test_a_packet_is_whole_whatever_its_size(ends, size):
    ends[0].send(b"x" * size)
    assert wire.packet(ends[1]) == (b"x" * size, [])


def test_descriptors_travel_with_a_packet(ends, tmp_path):
    file = tmp_path / "shared"
    file.write_text("seen by both")
    with file.open() as opened:
        wire.send(ends[0], Status(code=1), [opened.fileno()])
    data, (descriptor,) = wire.packet(ends[1], 3)
    assert data == b'{"code":1}'
    assert os.pread(descriptor, 100, 0) == b"seen by both"
    os.close(descriptor)


def test_the_end_of_the_other_side_is_told(ends):
    ends[0].close()
    with pytest.raises(EOFError):
        wire.packet(ends[1])


def test_silence_ends_at_the_limit(ends):
    ends[1].settimeout(0.01)
    with pytest.raises(TimeoutError):
        wire.packet(ends[1])


@pytest.mark.parametrize("data", [b"[1, 2]", b"5", b"null", b"no json", b"\xff\xfe", b"{", b"[" * 50_000, b"{}"])
def test_what_is_no_such_message_is_refused(ends, data):
    ends[0].send(data)
    with pytest.raises(ValueError, match=r".+"):
        wire.receive(ends[1], Status)


def test_it_is_one_packet_and_not_a_stream(ends):
    assert ends[0].type == socket.SOCK_SEQPACKET


def test_descriptors_beyond_one_packets_share_go_ahead_of_it(ends, tmp_path):
    file = tmp_path / "shared"
    file.write_text("one of many")
    with file.open() as opened:
        wire.send(ends[0], Status(code=1), [opened.fileno()] * 2 * wire.AT_ONCE)
        wire.send(ends[0], Status(code=2), [opened.fileno()])
    data, descriptors = wire.packet(ends[1], 2 * wire.AT_ONCE)
    assert data == b'{"code":1}'
    assert len(descriptors) == 2 * wire.AT_ONCE
    assert {os.pread(descriptor, 100, 0) for descriptor in descriptors} == {b"one of many"}
    second, (last,) = wire.packet(ends[1], 3)
    assert second == b'{"code":2}'
    for descriptor in (*descriptors, last):
        os.close(descriptor)


def test_descriptors_that_are_not_taken_are_told(ends, tmp_path):
    with (tmp_path / "shared").open("w") as opened:
        wire.send(ends[0], Status(code=1), [opened.fileno()] * 3)
    with pytest.raises(OSError, match="more than the 1 descriptors"):
        wire.packet(ends[1], 1)


@pytest.mark.parametrize("descriptors", [1, 2 * wire.AT_ONCE])
def test_a_message_that_is_longer_than_a_packet_arrives_in_a_file(ends, tmp_path, descriptors):
    words, file = Words(text="x" * (3 * wire.LIMIT)), tmp_path / "shared"
    file.write_text("with it")
    before = opened_files()
    with file.open() as opened:
        wire.send(ends[0], words, [opened.fileno()] * descriptors)
    data, received = wire.packet(ends[1], descriptors + 1)
    assert Words.model_validate_json(data) == words
    assert {os.pread(one, 100, 0) for one in received} == {b"with it"}
    assert len(received) == descriptors
    for one in received:
        os.close(one)
    assert opened_files() == before


def test_who_takes_no_descriptors_is_sent_no_file(ends):
    ends[0].send(wire.ELSEWHERE)
    assert wire.packet(ends[1]) == (wire.ELSEWHERE, [])
