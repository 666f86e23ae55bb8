"""Frames: a kind, a length, bytes; whole, whatever the socket does to them."""

import socket
import threading

import pytest

from kernelwright.execution import channel


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("payload", [b"", b"x", b"\0\xff\n" * 100])
@pytest.mark.parametrize("kind", [b"J", b"R", b"N"])
def test_a_frame_arrives_as_it_was_sent(ends, kind, payload):
    channel.write(ends[0], kind, payload)
    assert channel.read(ends[1]) == (kind, payload)


def test_frames_keep_their_borders(ends):
    for n in range(10):
        channel.write(ends[0], b"N", bytes([n]) * n)
    assert [channel.read(ends[1]) for _ in range(10)] == [(b"N", bytes([n]) * n) for n in range(10)]


def test_a_frame_larger_than_any_buffer_is_whole(ends):
    payload = bytes(range(256)) * 40_000
    writer = threading.Thread(target=channel.write, args=(ends[0], b"R", payload))
    writer.start()
    assert channel.read(ends[1]) == (b"R", payload)
    writer.join()


def test_the_other_end_s_death_is_none(ends):
    ends[0].close()
    assert channel.read(ends[1]) is None


@pytest.mark.parametrize("cut", [1, channel.HEADER.size, channel.HEADER.size + 3])
def test_a_frame_that_breaks_off_is_none(ends, cut):
    ends[0].sendall((channel.HEADER.pack(b"R", 10) + b"0123456789")[:cut])
    ends[0].close()
    assert channel.read(ends[1]) is None
