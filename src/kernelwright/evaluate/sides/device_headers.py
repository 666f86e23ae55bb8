"""Headers that NVRTC lacks and that people include all the same: the C library's, and `std` from CCCL's `cuda::std`.

Without a host compiler, functions of `<cmath>` and the like are built in; types and limits are defined here.
"""

from collections.abc import Sequence
from pathlib import Path

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;
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


def device_headers(include: Sequence[str]) -> dict[str, str]:
    """Texts by the name in `#include`; `std` is only there where `include` has CCCL."""
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
            found |= dict.fromkeys((name, c_name), f"#pragma once\n#include <cuda/std/{name}>\n")
    return found


def _macros(values: dict[str, str]) -> str:
    lines = [f"#ifndef {name}\n#define {name} {value}\n#endif" for name, value in values.items()]
    return "\n".join(["#pragma once", *lines, ""])
