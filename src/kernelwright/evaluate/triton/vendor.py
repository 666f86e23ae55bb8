"""Whose compiler Triton ends in, by kind of device: what it compiles for, and how its facts are read."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from triton.backends.compiler import GPUTarget

from kernelwright.evaluate.triton import cubin, hsaco
from kernelwright.knowledge.hardware import Hardware


class Vendor(Protocol):
    """A module such as `cubin` or `hsaco`."""

    def target(self, device: Hardware) -> GPUTarget:
        """What Triton compiles for."""

    def assembler_log(self) -> AbstractContextManager[None]:
        """Within it, compiled kernels carry the log that the other two read."""

    def registers(self, log: str) -> int | None:
        """Registers of each thread; None when the log does not say."""

    def spill_bytes(self, log: str) -> int | None:
        """Bytes of registers that each thread spills; None when the log does not say."""


VENDORS: Mapping[str, Vendor] = {"cuda": cubin, "hip": hsaco}
"""By kind of device."""
