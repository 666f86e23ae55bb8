"""Who read, stored and counted at each element of one launch, and whether something came before it on a device, too.

Programs of a launch have no order but the one that they make: an atomic that acquires sees what was done before one that
released at that address (the memory model of PTX and of C++; Triton's atomics do both unless they say otherwise). Each program
has a clock that a release moves on, and knows of every other the clock up to which it has seen its doings (FastTrack, Flanagan
and Freund, PLDI 2009). Two accesses of which neither came before the other are a race if one of them stores, unless both are
atomic, or both store the same. Until the first atomic of a launch nothing is ordered, and no clock is kept.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernelwright.evaluate.triton.untyped import Array

MOST_LANES = 32
"""Atomics on more lanes than this add to results; nobody makes an order by them."""


class Conflict(NamedTuple):
    """An access that is not ordered with an earlier one; `at` is its place among the offsets."""

    at: int
    verb: str
    """What the other did, such as `stored`."""
    other: int
    """The other program; -1 where several did it."""


class _Node(NamedTuple):
    """The last of some accesses, and the ones before it."""

    program: int
    clock: int
    before: int


class _Touched:
    """For each element, the accesses of one kind that may still be in conflict, as a number: chains that share their ends.

    Program p's only access at clock 0 is p + 1, which needs no table; 0 is nobody's, count + 1 that of several.
    """

    def __init__(self, elements: int, count: int) -> None:
        self.state = np.zeros(elements, dtype=np.int32)
        self._several = count + 1
        self._nodes: dict[int, _Node] = {}
        self._numbers: dict[_Node, int] = {}

    def mark(self, offsets: Array, program: int) -> None:
        """Note an access while no clock is kept."""
        before = self.state[offsets]
        mine = (before == 0) | (before == program + 1)
        self.state[offsets] = np.where(mine, program + 1, self._several)

    def add(self, offsets: Array, program: int, clock: int) -> None:
        """Note an access."""
        self.state[offsets] = self._each(offsets, lambda state: self._number(program, clock, state))

    def unordered(self, offsets: Array, program: int, known: Array | None) -> tuple[int, int] | None:
        """The first place whose accesses did not all come before what `program` does, and whose it was."""
        states = self.state[offsets]
        if not states.any():
            return None
        for state in np.unique(states):
            other = self._other(int(state), program, known)
            if other is not None:
                return int(np.argmax(states == state)), other
        return None

    def _each(self, offsets: Array, new: Callable[[int], int]) -> Array | int:
        states = self.state[offsets]
        if states.size and states.min() == states.max():
            return new(int(states[0]))
        distinct, places = np.unique(states, return_inverse=True)
        return np.array([new(int(s)) for s in distinct], dtype=np.int32)[places]

    def _node(self, state: int) -> _Node:
        return self._nodes.get(state) or _Node(-1 if state == self._several else state - 1, 0, 0)

    def _number(self, program: int, clock: int, state: int) -> int:
        if state and self._node(state).program == program:
            state = self._node(state).before
        node = _Node(program, clock, state)
        if (clock, state) == (0, 0):
            return program + 1
        if node not in self._numbers:
            self._numbers[node] = self._several + 1 + len(self._numbers)
            self._nodes[self._numbers[node]] = node
        return self._numbers[node]

    def _other(self, state: int, program: int, known: Array | None) -> int | None:
        while state:
            node = self._node(state)
            if node.program != program and (known is None or node.program < 0 or node.clock >= known[node.program]):
                return node.program
            state = node.before
        return None


class AccessLog:
    """One launch's accesses. Addresses are offsets into its tensors, in elements of the smallest type.

    Args:
        elements: of all tensors together.
        count: programs of the launch.
    """

    def __init__(self, elements: int, count: int) -> None:
        self._count = count
        self._reads, self._atomics = _Touched(elements, count), _Touched(elements, count)
        self._writer = np.zeros(elements, dtype=np.int32)
        self._written_at = np.zeros(elements, dtype=np.int32)
        self._clocks: Array | None = None
        self._known: dict[int, Array] = {}
        self._released: dict[int, Array] = {}
        self._anything_written = False

    def refine(self, times: int) -> None:
        """Elements become so many smaller ones each: an access is narrower than every tensor's type."""
        self._reads.state, self._atomics.state, self._writer, self._written_at = (
            np.repeat(one, times) for one in (self._reads.state, self._atomics.state, self._writer, self._written_at)
        )
        self._released = {address * times: known for address, known in self._released.items()}

    def read(self, offsets: Array, program: int) -> Conflict | None:
        """Note a load."""
        found = self._stored_by_another(offsets, program) or self._conflict(self._atomics, "counted", offsets, program)
        if found is None:
            foreign = offsets[self._writer[offsets] != program + 1] if self._anything_written else offsets
            # What a program reads of its own stores is in conflict with nothing that its store is not.
            self._note(self._reads, foreign, program)
        return found

    def write(self, offsets: Array, program: int, differs: Callable[[], Array]) -> Conflict | None:
        """Note a store; `differs` says for each offset whether something else lies there."""
        found = (
            self._conflict(self._reads, "read", offsets, program)
            or self._conflict(self._atomics, "counted", offsets, program)
            or self._stored_by_another(offsets, program, differs)
        )
        self._anything_written = True
        self._writer[offsets] = program + 1
        if self._clocks is not None:
            self._written_at[offsets] = self._clocks[program]
            if offsets.size == 1:
                self._released.pop(int(offsets[0]), None)
        return found

    def atomic(
        self, offsets: Array, program: int, changes: bool, acquires: bool = False, releases: bool = False
    ) -> Conflict | None:
        """Note an atomic, and what it orders; one that changes nothing is in no conflict with a load."""
        if self._clocks is None:
            self._clocks = np.zeros(self._count, dtype=np.int32)
        addresses = [int(offset) for offset in offsets] if offsets.size <= MOST_LANES else []
        if acquires:
            self._acquire(addresses, program)
        found = self._stored_by_another(offsets, program)
        if changes:
            found = found or self._conflict(self._reads, "read", offsets, program)
            self._note(self._atomics, offsets, program)
        if releases:
            self._release(addresses, program, self._clocks)
        return found

    def _acquire(self, addresses: list[int], program: int) -> None:
        for address in addresses:
            if address in self._released:
                known = self._known.setdefault(program, np.zeros(self._count, dtype=np.int32))
                np.maximum(known, self._released[address], out=known)

    def _release(self, addresses: list[int], program: int, clocks: Array) -> None:
        known = self._known.setdefault(program, np.zeros(self._count, dtype=np.int32))
        clocks[program] += 1
        known[program] = clocks[program]
        for address in addresses:
            before = self._released.get(address)
            self._released[address] = known.copy() if before is None else np.maximum(before, known)

    def ended(self, program: int) -> None:
        """Nothing that a program knows matters when it has ended."""
        self._known.pop(program, None)

    def _note(self, touched: _Touched, offsets: Array, program: int) -> None:
        if self._clocks is None:
            touched.mark(offsets, program)
        else:
            touched.add(offsets, program, int(self._clocks[program]))

    def _conflict(self, touched: _Touched, verb: str, offsets: Array, program: int) -> Conflict | None:
        if touched is self._atomics and self._clocks is None:
            return None
        found = touched.unordered(offsets, program, self._known.get(program))
        return None if found is None else Conflict(found[0], verb, found[1])

    def _stored_by_another(
        self, offsets: Array, program: int, differs: Callable[[], Array] | None = None
    ) -> Conflict | None:
        if not self._anything_written:
            return None
        writers = self._writer[offsets]
        others = (writers != 0) & (writers != program + 1)
        known = self._known.get(program)
        if known is not None and others.any():
            others &= self._written_at[offsets] >= known[writers - 1]
        if differs is not None and others.any():
            others &= differs()
        if not others.any():
            return None
        at = int(np.argmax(others))
        return Conflict(at, "stored", int(writers[at]) - 1)
