"""What a module's kernels could remember from one call to the next, put back before each of them.

Device code keeps state in its global variables (`__device__ int calls`) and in workspaces: it could count its calls, be
right while it is checked and lazy while it is timed, or keep what it worked out before. Where the launcher is ours, the
variables are as they were when the module was loaded before every call, and workspaces are poisoned.

Variables lie in the sections `.nv.global` and `.nv.global.init` of a binary (ELF, System V ABI 4.1). The driver gives each one
a place of its own, 256 bytes apart, and tells where it is by its name, those of internal linkage included.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.evaluate.entrypoints.candidate.poison import POISON_BYTE

SECTIONS = (b".nv.global", b".nv.global.init")
SYMBOLS, OBJECT = 2, 1
"""ELF's numbers of a symbol table and of a variable."""
MOST_BYTES = 1 << 30
"""Of variables that are put back; more would take the device's memory."""
Find = Callable[[str], int | None]
"""The address of a variable in a loaded module; None where the driver does not tell."""
Window = Callable[[int, int], torch.Tensor]
"""The bytes of the device's memory from an address on, as a tensor that shares them."""


@dataclass(frozen=True)
class Variable:
    """One that lies in a binary's sections of variables."""

    name: str
    nbytes: int


def variables(image: bytes) -> list[Variable]:
    """The variables of a binary; none where it is no 64-bit ELF file, such as PTX."""
    if image[:5] != b"\x7fELF\x02" or len(image) < 64:
        return []
    start, size, count, naming = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, start + i * size) for i in range(count)]
    texts = [image[h[4] : h[4] + h[5]] for h in headers]
    wanted = {i for i, h in enumerate(headers) if _text(texts[naming], h[0]) in SECTIONS}
    return [
        Variable(_text(texts[header[6]], name).decode(errors="replace"), nbytes)
        for header, table in zip(headers, texts, strict=True)
        if header[1] == SYMBOLS
        for name, kind, _, section, _, nbytes in struct.iter_unpack("<IBBHQQ", table)
        if section in wanted and kind & 15 == OBJECT and nbytes
    ]


def _text(table: bytes, at: int) -> bytes:
    return table[at : table.index(b"\0", at)]


class DeviceState:
    """The variables of loaded modules as they were at first, and workspaces."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._kept: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Where variables lie, and what they were."""
        self.unknown = 0
        """Bytes of variables that cannot be found, or are too many."""

    def keep(self, image: bytes, find: Find) -> None:
        """Remember the variables of a module that has just been loaded from this binary."""
        found: set[int] = set()
        for variable in variables(image):
            at = find(variable.name)
            # Of two with the same name the driver tells of one.
            if at is None or at in found or variable.nbytes > MOST_BYTES:
                self.unknown += variable.nbytes
                continue
            found.add(at)
            there = self._window(at, variable.nbytes)
            self._kept.append((there, there.clone()))

    def put_back(self, workspaces: Sequence[torch.Tensor]) -> None:
        """Everything as it was before the first call, and workspaces as nobody left them; on torch's current stream."""
        for there, kept in self._kept:
            there.copy_(kept)
        for memory in workspaces:
            memory.fill_(POISON_BYTE)


def finder(driver: Any, module: object) -> Find:  # noqa: ANN401 (NVIDIA's bindings)
    """Looks variables of a module up by name."""

    def find(name: str) -> int | None:
        code, pointer, _ = driver.cuModuleGetGlobal(module, name.encode())
        return None if int(code) else int(pointer)

    return find
