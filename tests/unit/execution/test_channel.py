"""Frames: a kind, a job, a length, bytes; whole, whatever the socket does to them, and however many write."""

import asyncio
import socket
import threading

import pytest

from kernelwright.execution.channel import HEADER, Channel, Frame, pack, receive


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture(params=["read", "receive"])
def read(request, ends):
    """The next frame at the second end, as a worker and as an executor read it."""
    if request.param == "read":
        return Channel(ends[1]).read

    async def one():
        reader, writer = await asyncio.open_connection(sock=ends[1].dup())
        frame = await receive(reader)
        writer.close()
        return frame

    return lambda: asyncio.run(one())


@pytest.mark.parametrize("payload", [b"", b"x", b"\0\xff\n" * 100])
@pytest.mark.parametrize("kind", [b"J", b"R", b"N", b"C"])
@pytest.mark.parametrize("job", [0, 7, 1 << 60])
def test_a_frame_arrives_as_it_was_sent(ends, read, kind, job, payload):
    Channel(ends[0]).write(kind, job, payload)
    assert read() == Frame(kind, job, payload)


def test_frames_keep_their_borders(ends):
    for n in range(10):
        Channel(ends[0]).write(b"N", n, bytes([n]) * n)
    channel = Channel(ends[1])
    assert [channel.read() for _ in range(10)] == [(b"N", n, bytes([n]) * n) for n in range(10)]


def test_a_frame_larger_than_any_buffer_is_whole(ends, read):
    payload = bytes(range(256)) * 40_000
    writer = threading.Thread(target=Channel(ends[0]).write, args=(b"R", 1, payload))
    writer.start()
    assert read() == (b"R", 1, payload)
    writer.join()


def test_threads_do_not_write_into_each_other_s_frames(ends):
    channel, payload = Channel(ends[0]), bytes(300_000)
    writers = [threading.Thread(target=channel.write, args=(b"R", n, payload)) for n in range(6)]
    for writer in writers:
        writer.start()
    reader = Channel(ends[1])
    found = [reader.read() for _ in writers]
    assert sorted(frame.job for frame in found) == list(range(6))
    assert all(frame.payload == payload for frame in found)
    for writer in writers:
        writer.join()


def test_the_other_end_s_death_is_none(ends, read):
    ends[0].close()
    assert read() is None


@pytest.mark.parametrize("cut", [1, HEADER.size, HEADER.size + 3])
def test_a_frame_that_breaks_off_is_none(ends, read, cut):
    ends[0].sendall(pack(b"R", 1, b"0123456789")[:cut])
    ends[0].close()
    assert read() is None


def test_hanging_up_wakes_who_reads(ends):
    channel = Channel(ends[1])
    found = []
    reader = threading.Thread(target=lambda: found.append(channel.read()))
    reader.start()
    channel.hang_up()
    reader.join(10)
    assert found == [None]
