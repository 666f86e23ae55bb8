"""NVRTC in its own confined process: CUDA C++ text into a device binary. It starts no program and needs no driver.

Options, names and folders come from the grader. What it hands back is untrusted: the text that it compiled may have
taken this process over.
"""

import ctypes
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox.messages.tools import CompileCuda, CudaCompiled, Kernels, Made

LOG = 20000

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;
namespace std {
using ::int8_t, ::int16_t, ::int32_t, ::int64_t, ::uint8_t, ::uint16_t, ::uint32_t, ::uint64_t, ::intptr_t, ::uintptr_t;
}
"""
_LIMITS = {
    "CHAR_BIT": "8", "SCHAR_MAX": "127", "UCHAR_MAX": "255", "SHRT_MAX": "32767", "USHRT_MAX": "65535",
    "INT_MAX": "2147483647", "INT_MIN": "(-INT_MAX - 1)", "UINT_MAX": "4294967295U",
    "LLONG_MAX": "9223372036854775807LL", "LLONG_MIN": "(-LLONG_MAX - 1LL)", "ULLONG_MAX": "18446744073709551615ULL",
    "LONG_MAX": "9223372036854775807L", "LONG_MIN": "(-LONG_MAX - 1L)", "ULONG_MAX": "18446744073709551615UL",
}  # fmt: skip
_FLOATS = {
    "FLT_MAX": "3.402823466e+38F", "FLT_MIN": "1.175494351e-38F", "FLT_EPSILON": "1.192092896e-07F",
    "DBL_MAX": "1.7976931348623158e+308", "DBL_MIN": "2.2250738585072014e-308", "DBL_EPSILON": "2.2204460492503131e-16",
}  # fmt: skip
_CONSTANTS = {
    "INFINITY": '__int_as_float(0x7f800000)', "NAN": '__int_as_float(0x7fffffff)',
    "M_PI": "3.14159265358979323846", "M_E": "2.7182818284590452354", "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440", "M_2_SQRTPI": "1.12837916709551257390", "M_LN2": "0.69314718055994530942",
    "M_LOG2E": "1.4426950408889634074", "M_1_PI": "0.31830988618379067154",
}  # fmt: skip
_TENSOR_MAP = """#pragma once
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
"""
_NOTHING = (
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "device_functions.h",
    "stddef.h", "cstddef", "stdlib.h", "cstdlib", "stdio.h", "cstdio", "string.h", "cstring", "assert.h", "cassert",
    "iostream", "vector", "string",
)  # fmt: skip
"""Built in, or of host code only."""
_FROM_CCCL = ("limits", "type_traits", "utility", "array", "tuple", "functional", "numeric", "complex")
_SAME = (("cstdint", "stdint.h"), ("climits", "limits.h"))
_WITH_SIZE, _PARAMETER = 0x04, 0x17
_PREFIX = b".nv.info."


class NvrtcSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self) -> None:
        self._made = ctypes.create_string_buffer(0)

    def compile(self, command: CompileCuda) -> CudaCompiled:
        """Compile, asking for the kernels by name; the binary stays in memory."""
        try:
            program = Compilation(command.library)
        except (ImportError, OSError, RuntimeError) as error:
            return CudaCompiled(missing=str(error) or type(error).__name__)
        log, names = program.run(command, device_headers(command.include))
        kernels = self._kept(program.binary, names) if program.binary else None
        return CudaCompiled(version=program.version, log=log, kernels=kernels)

    def _kept(self, binary: bytes, names: list[str]) -> Kernels:
        self._made = ctypes.create_string_buffer(binary, len(binary))
        made = Made(address=ctypes.addressof(self._made), nbytes=len(binary))
        return Kernels(made=made, names=names, parameters=_parameters(binary))


class Compilation:
    """One use of NVRTC.

    Raises:
        ImportError, OSError, RuntimeError: it is not on this machine.
    """

    def __init__(self, library: str | None) -> None:
        from cuda.bindings import nvrtc  # noqa: PLC0415 (absent on machines without a GPU; told as such)

        try:
            _, major, minor = nvrtc.nvrtcVersion()
        except (OSError, RuntimeError):
            if library is None or not Path(library).exists():
                raise
            ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
            _, major, minor = nvrtc.nvrtcVersion()
        self._nvrtc = nvrtc
        self.version = f"{major}.{minor}"
        self.binary = b""

    def run(self, command: CompileCuda, headers: dict[str, str]) -> tuple[str, list[str]]:
        """The log, and each name as it is in the binary."""
        log, lowered = self._compiled(command, headers, command.names)
        if self.binary or "overloaded function" not in log:
            return log, lowered
        # CUDA's own functions have such a name, so NVRTC cannot tell which is meant: the binary has kernels alone.
        again, _ = self._compiled(command, headers, ())
        found = [_mangled(name, _parameters(self.binary)) for name in command.names]
        if all(found):
            return again, found
        self.binary = b""
        return log, []

    def _compiled(self, command: CompileCuda, headers: dict[str, str], names: Sequence[str]) -> tuple[str, list[str]]:
        nvrtc = self._nvrtc
        texts, titles = [t.encode() for t in headers.values()], [n.encode() for n in headers]
        _, program = nvrtc.nvrtcCreateProgram(command.source.encode(), b"kernel.cu", len(texts), texts, titles)
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        given = [o.encode() for o in command.options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
        log = self._read(program, "ProgramLog").rstrip(b"\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            return log.decode(errors="replace")[:LOG] or str(status), []
        lowered = [nvrtc.nvrtcGetLoweredName(program, name.encode())[1].decode() for name in names]
        self.binary = self._read(program, "CUBIN")
        return log.decode(errors="replace")[-LOG:], lowered

    def _read(self, program: object, what: str) -> bytes:
        _, length = getattr(self._nvrtc, f"nvrtcGet{what}Size")(program)
        data: bytes = b"\0" * length
        getattr(self._nvrtc, f"nvrtcGet{what}")(program, data)
        return data


def _mangled(name: str, known: Iterable[str]) -> str:
    """The one kernel of a plain name, as it is in the binary; empty where there is none, or several."""
    found = [one for one in known if one == name or one.startswith(f"_Z{len(name)}{name}")]
    return found[0] if len(found) == 1 else ""


def _parameters(binary: bytes) -> dict[str, list[int]]:
    try:
        return kernel_parameters(binary)
    except (struct.error, IndexError, ValueError):
        return {}


def device_headers(include: Sequence[str]) -> dict[str, str]:
    """Headers that NVRTC lacks and people include all the same, by name: the C library's, and `std` from CCCL's `cuda::std`.

    Without a host compiler, functions of `<cmath>` and the like are built in; types and limits are defined here. `std`
    is only there where `include` has CCCL.
    """
    found = dict.fromkeys(_NOTHING, "#pragma once\n")
    found |= dict.fromkeys(("stdint.h", "cstdint"), _INTEGERS)
    found |= dict.fromkeys(("limits.h", "climits"), _macros(_LIMITS))
    found |= dict.fromkeys(("float.h", "cfloat"), _macros(_FLOATS))
    found |= dict.fromkeys(("math.h", "cmath"), _macros(_CONSTANTS))
    found |= {"cuda.h": _TENSOR_MAP, "cudaTypedefs.h": _TENSOR_MAP}

    def has(name: str) -> bool:
        return any((Path(folder) / "cuda" / "std" / name).exists() for folder in include)

    for name in _FROM_CCCL:
        if has(name):
            found[name] = f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
    if has("__algorithm/min.h"):
        parts = "".join(f"#include <cuda/std/__algorithm/{part}.h>\n" for part in ("min", "max", "clamp"))
        found["algorithm"] = f"#pragma once\n{parts}namespace std {{ using namespace cuda::std; }}\n"
    for name, c_name in _SAME:
        if has(name):
            # Two definitions of one macro would clash where a source includes CCCL as well.
            text = f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
            found |= dict.fromkeys((name, c_name), text)
    return found


def _macros(values: dict[str, str]) -> str:
    lines = [f"#ifndef {name}\n#define {name} {value}\n#endif" for name, value in values.items()]
    return "\n".join(["#pragma once", *lines, ""])


def kernel_parameters(binary: bytes) -> dict[str, list[int]]:
    """Sizes in bytes of every kernel's parameters, in order; kernels without notes are left out.

    The assembler's notes are in `.nv.info.<kernel>`, as `cuobjdump -elf` shows: attributes of a format byte, an attribute
    byte and a 16-bit size or value; EIATTR_KPARAM_INFO (0x17) holds index, ordinal, offset, and the size above bit 18.

    Raises:
        struct.error, IndexError, ValueError: it is no device binary.
    """
    return {name: _sizes(notes) for name, notes in _sections(binary) if notes is not None}


def _sections(binary: bytes) -> Iterator[tuple[str, bytes]]:
    if binary[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF file")
    table, entry, count, names = (struct.unpack_from("<Q", binary, 0x28)[0], *struct.unpack_from("<HHH", binary, 0x3A))
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


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    session.serve(control, {CompileCuda: NvrtcSide().compile})
