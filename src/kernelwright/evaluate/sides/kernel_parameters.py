"""The parameters of each kernel in a device binary: their sizes in bytes, from the notes that the assembler leaves.

The layout of `.nv.info.<kernel>` is that of `cuobjdump -elf`: attributes of a format byte, an attribute byte and a
16-bit size or value; EIATTR_KPARAM_INFO (0x17) holds index, ordinal, offset, and the size above bit 18.
"""

import struct
from collections.abc import Iterator

_WITH_SIZE, _PARAMETER = 0x04, 0x17
_PREFIX = b".nv.info."


def kernel_parameters(binary: bytes) -> dict[str, list[int]]:
    """Sizes in bytes of every kernel's parameters, in order; kernels without notes are left out.

    Raises:
        struct.error, IndexError, ValueError: it is no device binary.
    """
    return {name: _sizes(notes) for name, notes in _sections(binary) if notes is not None}


def _sections(binary: bytes) -> Iterator[tuple[str, bytes]]:
    if binary[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF file")
    table, entry, count, names = (
        struct.unpack_from("<Q", binary, 0x28)[0],
        *struct.unpack_from("<HHH", binary, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQ", binary, table + i * entry) for i in range(count)]
    text = headers[names][4]
    for name, _, _, _, offset, size in headers:
        label = binary[text + name : binary.index(b"\0", text + name)]
        if label.startswith(_PREFIX):
            yield label.removeprefix(_PREFIX).decode(), binary[offset : offset + size]


def _sizes(notes: bytes) -> list[int]:
    found: dict[int, int] = {}
    at = 0
    while at + 4 <= len(notes):
        form, attribute, length = struct.unpack_from("<BBH", notes, at)
        at += 4
        if form != _WITH_SIZE:
            continue
        if attribute == _PARAMETER:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", notes, at)
            found[ordinal] = packed >> 18
        at += length
    return [found[ordinal] for ordinal in sorted(found)]
