"""Where the results of a C++ candidate lie: poisoned and guarded before every question, in pages of its own."""

import ctypes
import mmap
import os

import pytest

from kernelwright.evaluate.backends.cpu import process
from kernelwright.evaluate.backends.cpu.process import POOL, LibraryProcess, Loading, most_calls
from kernelwright.evaluate.sandbox.arena import PAGE
from kernelwright.evaluate.sandbox.child import Response
from kernelwright.evaluate.sandbox.compute_process import GUARD, GUARD_BYTE, MOST_CALLS
from kernelwright.evaluate.sandbox.messages import calls as placed
from kernelwright.evaluate.sandbox.messages.base import Answer
from kernelwright.evaluate.sandbox.messages.calls import RanInTurn
from kernelwright.evaluate.sandbox.messages.candidates import LibraryLoaded, LoadLibrary, RunPlaced
from kernelwright.evaluate.sandbox.process import TamperedError
from kernelwright.evaluate.session.memory import LINE
from kernelwright.records.tensor import TensorSpec

OUTPUTS = (TensorSpec(name="a", shape=(100, 10), dtype="float32"), TensorSpec(name="b", shape=(), dtype="int64"))


class Pooled:
    """A child in this very process with a pool; `work` is called with the places of every question's results."""

    def __init__(self, work=lambda outs: None, access=mmap.PROT_READ | mmap.PROT_WRITE):
        self.pid, self.serial, self.work, self.access = os.getpid(), 0, work, access
        self.questions = []

    def ask(self, command, limit_s, freeze=True, meanwhile=None):
        self.serial += 1
        self.questions.append(command)
        reply = RanInTurn()
        if isinstance(command, LoadLibrary):
            self.memory = mmap.mmap(-1, command.pool_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=self.access)
            self.outputs = command.outputs
            reply = LibraryLoaded(pool=address_of(self.memory) if self.access & mmap.PROT_WRITE else 4096)
        elif isinstance(command, RunPlaced):
            self.work([row[-self.outputs :] for row in command.rows])
            reply = placed.Ran(ns=1000)
        return Response(Answer(serial=self.serial, reply=reply), 5000, 4000)


def address_of(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def loaded(child, outputs=OUTPUTS, own_memory=True):
    side = LibraryProcess(child, 5.0, outputs, own_memory=own_memory)
    side.load(((0,), (3,)), 4, Loading("work", 1))
    return side


def test_every_question_finds_poison_between_guards():
    seen = []

    def work(outs):
        for places in outs:
            for address, spec in zip(places, OUTPUTS, strict=True):
                around = ctypes.string_at(address - GUARD, spec.nbytes + 2 * GUARD)
                seen.append(around == bytes([GUARD_BYTE]) * GUARD + b"\xff" * spec.nbytes + bytes([GUARD_BYTE]) * GUARD)
                ctypes.memset(address, 0, spec.nbytes)

    side = loaded(Pooled(work))
    for checked in (True, False, False):
        side.run([(0, 64)] * 3, checked)
    side.ready(3)
    side.run([(0, 64)] * 3, checked=False)
    assert seen == [True] * 4 * 3 * 2


def test_a_question_does_not_say_whether_anybody_will_look():
    side = loaded(Pooled())
    side.run([(0,)], checked=True)
    side.run([(0,)], checked=False)
    assert [q.model_dump(exclude={"numbers"}) for q in side.child.questions[1:]] == [
        {"kind": "run_placed", "count": 1}
    ] * 2


def test_results_are_read_where_they_were_placed_and_guards_with_them():
    def work(outs):
        ctypes.memmove(outs[0][1], (7).to_bytes(8, "little"), 8)
        ctypes.memset(outs[0][0] - 1, 0, 1)

    side = loaded(Pooled(work))
    ((first, second),) = side.run([(0,)], checked=False).results
    assert int(side.read(second)) == 7
    assert side.guards_intact(second)
    assert not side.guards_intact(first)


def test_no_result_begins_in_its_page_where_an_input_of_its_call_does():
    side = loaded(Pooled())
    taken = {line * LINE for line in range(PAGE // LINE)} - {3 * LINE, 9 * LINE}
    ran = side.run([tuple(taken)] * 40, checked=False)
    assert {f.address % PAGE for call in ran.results for f in call} == {3 * LINE, 9 * LINE}


def test_results_of_a_sample_are_apart_and_their_places_change():
    side = loaded(Pooled())
    first, second = (side.run([(0,)] * 20, checked=False) for _ in range(2))
    first.must_be_disjoint()
    assert [f.address for call in first.results for f in call] != [f.address for call in second.results for f in call]


@pytest.mark.parametrize("how", ["file", "given back"])
def test_pages_that_are_not_its_own_are_tampering(how):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *([ctypes.c_int] * 3), ctypes.c_long)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    file = os.memfd_create("elsewhere")
    os.ftruncate(file, PAGE)

    def work(outs):
        page = -(-outs[0][0] // PAGE) * PAGE
        if how == "file":
            libc.mmap(page, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | 0x10, file, 0)
        else:
            libc.madvise(page, PAGE, mmap.MADV_DONTNEED)

    outputs = (TensorSpec(name="a", shape=(4, 4096), dtype="float32"),)
    side = loaded(Pooled(work), outputs)
    with pytest.raises(TamperedError, match="1 pages of its results"):
        side.run([(0,)], checked=False)
    loaded(Pooled(work), outputs, own_memory=False).run([(0,)], checked=False)
    os.close(file)


def test_a_pool_that_cannot_be_written_to_is_tampering():
    with pytest.raises(TamperedError, match="not as it was"):
        loaded(Pooled(access=mmap.PROT_READ)).run([(0,)], checked=False)


@pytest.mark.parametrize(("elements", "calls"), [(1, MOST_CALLS), (POOL // 40, 9), (POOL, 1)])
def test_as_many_calls_as_the_pool_holds(elements, calls):
    assert most_calls([TensorSpec(name="a", shape=(elements,), dtype="float32")]) == calls


def test_a_kernel_that_no_longer_tells_of_pages_is_no_host_that_never_did(monkeypatch):
    """A process that makes itself undumpable after a while, against one whose pages nobody ever saw."""
    results = [[placed.Found(address=4096, dtype="float32", shape=(4,))]]

    def denied(pid, areas):
        raise PermissionError(13, "Permission denied")

    seen, unseen = 70_000_001, 70_000_002
    monkeypatch.setattr(process.kernel, "page_entries", lambda pid, areas: b"")
    process.watch_pages(seen)
    monkeypatch.setattr(process.kernel, "page_entries", denied)
    process.watch_pages(unseen)
    process.must_be_own(unseen, results)
    with pytest.raises(TamperedError, match="no longer tells"):
        process.must_be_own(seen, results)
    process.watch_pages(seen)
    process.must_be_own(seen, results)


def test_a_child_s_pages_are_looked_at_before_it_loads():
    LibraryProcess(Pooled(), 5.0, OUTPUTS, own_memory=True)
    assert os.getpid() in process._TELLING
