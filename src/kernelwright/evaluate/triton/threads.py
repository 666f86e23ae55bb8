"""What a program reads of its own stores before its threads have waited for each other.

A lane of a tile belongs to a thread. What a thread stored it reads back; what another thread of its program stored it reads
only after a barrier. Triton puts none between a store and a load of one program (`tl.debug_barrier` does), and the interpreter
needs none, since it finishes a store before it begins a load. Whatever may make threads wait counts as a barrier here:
atomics, reductions, scans, products. Tiles of one shape are taken to lie in threads alike.
"""

import numpy as np

from kernelwright.evaluate.triton.untyped import Array


class OwnStores:
    """Which lane of which tile stored each element, and in which stretch between two barriers."""

    def __init__(self, elements: int) -> None:
        self._stretch = np.zeros(elements, dtype=np.int32)
        """Numbers of the stretches, each of one program; 0: nobody's."""
        self._lane = np.zeros(elements, dtype=np.int64)
        self._now: dict[int, int] = {}
        self._begun = 0
        self._shapes: dict[tuple[int, ...], int] = {}

    def waited(self, program: int) -> None:
        """All threads of a program have seen what they stored."""
        self._now.pop(program, None)

    def store(self, offsets: Array, live: Array, program: int) -> None:
        """Note the lanes of a store."""
        if program not in self._now:
            self._begun += 1
            self._now[program] = self._begun
        self._stretch[offsets] = self._now[program]
        self._lane[offsets] = self._lanes(live)

    def too_early(self, offsets: Array, live: Array, program: int) -> int | None:
        """The first place of a load whose element another thread of the program has just stored."""
        if (now := self._now.get(program)) is None:
            return None
        mine = self._stretch[offsets] == now
        if not mine.any():
            return None
        mine &= self._lane[offsets] != self._lanes(live)
        return int(np.argmax(mine)) if mine.any() else None

    def refine(self, times: int) -> None:
        """Elements become so many smaller ones each."""
        self._stretch, self._lane = np.repeat(self._stretch, times), np.repeat(self._lane, times)

    def _lanes(self, live: Array) -> Array:
        """Numbers of live lanes, that those of other shapes never have."""
        shape = self._shapes.setdefault(live.shape, len(self._shapes))
        return np.flatnonzero(live) + (shape << 32)
