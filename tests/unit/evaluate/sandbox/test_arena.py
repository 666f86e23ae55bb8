"""The arena: the grader writes, whoever has its descriptor reads and cannot write."""

import itertools
import mmap
import os
from pathlib import Path

import pytest

from kernelwright.evaluate.sandbox.arena import PAGE, Arena


@pytest.fixture
def arena():
    made = Arena([100, 5000, 0])
    yield made
    made.close()


def test_what_the_grader_writes_is_read_through_the_descriptor(arena):
    arena.memory(1)[:5] = b"hello"
    size = os.fstat(arena.descriptor).st_size
    with mmap.mmap(arena.descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ) as seen:
        start = arena.layout()[1]
        assert seen[start : start + 5] == b"hello"
        arena.memory(1)[0] = b"j"
        assert seen[start : start + 1] == b"j"


def test_the_descriptor_cannot_be_mapped_writable(arena):
    with pytest.raises(PermissionError):
        mmap.mmap(arena.descriptor, PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)


def test_the_descriptor_cannot_be_written_to_or_resized(arena):
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(arena.descriptor, b"x", 0)
    with pytest.raises(OSError, match=r".+"):
        os.ftruncate(arena.descriptor, 0)


def test_only_a_test_of_the_defence_shares_it_writable():
    arena = Arena([8], writable=True)
    with mmap.mmap(arena.descriptor, PAGE) as theirs:
        theirs[:2] = b"hi"
    assert arena.memory(0)[:2] == b"hi"
    arena.close()


def test_segments_are_apart_and_begin_at_pages(arena):
    assert [s.capacity for s in arena.segments] == [100, 5000, 0]
    assert all(s.start % PAGE == 0 for s in arena.segments)
    for before, after in itertools.pairwise(arena.segments):
        assert after.start - (before.start + before.capacity) >= PAGE


def test_an_arena_of_nothing_can_be_made():
    arena = Arena([])
    assert arena.layout() == []
    arena.close()


def test_closing_gives_the_descriptors_back():
    arena = Arena([8])
    before = len(list(Path("/proc/self/fd").iterdir()))
    arena.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before - 2
