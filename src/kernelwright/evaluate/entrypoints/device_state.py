"""What a module's kernels could remember from one call to the next, put back before each of them.

Device code keeps state in its global variables (`__device__ int calls`) and in workspaces: it could count its calls, be
right while it is checked and lazy while it is timed, or keep what it worked out before. Where the launcher is ours, the
variables are as they were when the module was loaded before every call, and workspaces are poisoned.

Variables lie in the sections `.nv.global` and `.nv.global.init` of a binary (ELF, System V ABI 4.1). The driver tells where a
variable lies by its name, so that one whose name it knows gives away the whole section, with those of internal linkage. A
kernel of ours copies them: the driver's own copies end at the end of one variable, and refuse a section of several.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

SECTIONS = (b".nv.global", b".nv.global.init")
POISON_BYTE = 0xFF
SYMBOLS, OBJECT = 2, 1
"""ELF's numbers of a symbol table and of a variable."""
MOST_BYTES = 1 << 30
"""Of variables that are put back; more would take the device's memory."""
Find = Callable[[str], int | None]
"""The address of a variable in a loaded module; None where the driver does not tell."""
Window = Callable[[int, int], torch.Tensor]
"""The bytes of the device's memory from an address on, as a tensor that shares them."""


@dataclass(frozen=True)
class Section:
    """Variables that lie together."""

    nbytes: int
    names: tuple[tuple[str, int], ...]
    """Of variables, with where each begins."""


def sections(image: bytes) -> list[Section]:
    """The sections of variables in a binary; none where it is no 64-bit ELF file, such as PTX."""
    if image[:5] != b"\x7fELF\x02" or len(image) < 64:
        return []
    start, size, count, naming = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, start + i * size) for i in range(count)]
    texts = [image[h[4] : h[4] + h[5]] for h in headers]
    wanted = {i: h[5] for i, h in enumerate(headers) if _text(texts[naming], h[0]) in SECTIONS and h[5]}
    found: dict[int, list[tuple[str, int]]] = {i: [] for i in wanted}
    for header, table in zip(headers, texts, strict=True):
        if header[1] != SYMBOLS:
            continue
        for name, kind, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table):
            if section in wanted and kind & 15 == OBJECT:
                found[section].append((_text(texts[header[6]], name).decode(errors="replace"), value))
    return [Section(nbytes, tuple(found[i])) for i, nbytes in wanted.items()]


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
        for section in sections(image):
            starts = {a - value for name, value in section.names if (a := find(name)) is not None}
            if len(starts) != 1 or section.nbytes > MOST_BYTES:
                self.unknown += section.nbytes
                continue
            there = self._window(starts.pop(), section.nbytes)
            self._kept.append((there, there | 0))

    def put_back(self, workspaces: Sequence[torch.Tensor]) -> None:
        """Everything as it was before the first call, and workspaces as nobody left them; on torch's current stream."""
        for there, kept in self._kept:
            torch.bitwise_or(kept, 0, out=there)
        for memory in workspaces:
            memory.fill_(POISON_BYTE)


def finder(driver: Any, module: object) -> Find:  # noqa: ANN401 (NVIDIA's bindings)
    """Looks variables of a module up by name."""

    def find(name: str) -> int | None:
        code, pointer, _ = driver.cuModuleGetGlobal(module, name.encode())
        return None if int(code) else int(pointer)

    return find
