"""Races between the programs of one launch, which an interpreter that runs them in turn would not show.

A race is a program that reads what another program of the same launch wrote, or that writes what another one
read: on the device they run in no order. Not covered: two programs that write the same address, and
launches with an atomic operation, by which programs may have agreed on an order; nothing is checked from
there on.
"""

import numpy as np

from kernelwright.evaluate.triton.fault import CandidateError, FaultKind
from kernelwright.evaluate.triton.foreign import Array

NOBODY, SEVERAL = -1, -2
LARGEST_BYTES = 64 << 20
"""Launches on more memory than this are not checked."""


class RaceError(CandidateError):
    """The result depends on the order in which programs run."""

    kind: FaultKind = "race"


class Ledger:
    """Who read and who wrote each address of one launch. Addresses are offsets into its tensors."""

    def __init__(self, total_bytes: int) -> None:
        self._open = total_bytes <= LARGEST_BYTES
        self._reader = np.full(total_bytes if self._open else 0, NOBODY, dtype=np.int32)
        self._writer = self._reader.copy()

    def close(self) -> None:
        """Check nothing more."""
        self._open = False

    def read(self, offsets: Array, program: int) -> None:
        """Note a load.

        Raises:
            RaceError: another program wrote one of the addresses.
        """
        if self._open:
            self._refuse(self._writer[offsets], program, "reads what program {} wrote")
            mine = (self._reader[offsets] == NOBODY) | (self._reader[offsets] == program)
            self._reader[offsets] = np.where(mine, program, SEVERAL)

    def write(self, offsets: Array, program: int) -> None:
        """Note a store.

        Raises:
            RaceError: another program read one of the addresses.
        """
        if self._open:
            self._refuse(self._reader[offsets], program, "writes what program {} read")
            self._writer[offsets] = program

    def _refuse(self, others: Array, program: int, what: str) -> None:
        foreign = others[(others != NOBODY) & (others != program)]
        if foreign.size:
            other = "another" if foreign[0] == SEVERAL else int(foreign[0])
            raise RaceError(
                f"race: program {program} {what.format(other)} in the same launch; programs run in no order"
            )
