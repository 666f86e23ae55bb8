"""Messages: whole or absent, with descriptors, and nothing but JSON objects."""

import os
import socket

import pytest

from kernelwright.evaluate.sandbox import wire


@pytest.fixture
def ends():
    ours, theirs = wire.pair()
    with ours, theirs:
        yield ours, theirs


def test_a_message_arrives_as_it_was_sent(ends):
    message = {"do": "run", "calls": [[0, 64]], "name": "é\n", "busy": 1.5, "off": None}
    wire.send(ends[0], message)
    assert wire.receive(ends[1]) == (message, [])


def test_messages_keep_their_borders(ends):
    for n in range(5):
        wire.send(ends[0], {"n": n})
    assert [wire.receive(ends[1])[0]["n"] for _ in range(5)] == list(range(5))


def test_a_large_message_is_whole(ends):
    text = "x" * 200_000
    wire.send(ends[0], {"text": text})
    assert wire.receive(ends[1])[0]["text"] == text


def test_descriptors_travel_with_a_message(ends, tmp_path):
    file = tmp_path / "shared"
    file.write_text("seen by both")
    with file.open() as opened:
        wire.send(ends[0], {"do": "load"}, [opened.fileno()])
    message, (descriptor,) = wire.receive(ends[1], 3)
    assert message == {"do": "load"}
    assert os.pread(descriptor, 100, 0) == b"seen by both"
    os.close(descriptor)


def test_the_end_of_the_other_side_is_told(ends):
    ends[0].close()
    with pytest.raises(EOFError):
        wire.receive(ends[1])


def test_silence_ends_at_the_limit(ends):
    ends[1].settimeout(0.01)
    with pytest.raises(TimeoutError):
        wire.receive(ends[1])


@pytest.mark.parametrize("data", [b"[1, 2]", b"5", b"null", b"no json", b"\xff\xfe", b"{", b"[" * 50_000])
def test_what_is_no_json_object_is_refused(ends, data):
    ends[0].send(data)
    with pytest.raises(ValueError, match=r".+"):
        wire.receive(ends[1])


def test_it_is_one_packet_and_not_a_stream(ends):
    assert ends[0].type == socket.SOCK_SEQPACKET
