"""Which compiler flags a CUDA C++ candidate may ask for, and how each compiler spells them."""

import re
from collections.abc import Sequence

ALLOWED = (
    r"-O3",
    r"--?use_fast_math",
    r"--?extra-device-vectorization",
    r"--?lineinfo|-generate-line-info",
    r"--?(?:ftz|fmad|prec-div|prec-sqrt)=(?:true|false)",
    r"--?maxrregcount=\d{1,3}",
    r"--?std=c\+\+(?:14|17|20)",
    r"-D[A-Za-z_]\w{0,63}(?:=-?\w{1,64})?",
)
"""Patterns of whole flags."""
WORDS = (
    "-O3, -use_fast_math, -extra-device-vectorization, -lineinfo, -ftz=, -fmad=, -prec-div=, -prec-sqrt=, "
    "-maxrregcount=N, -std=c++14 (17, 20), -DNAME=VALUE"
)
_ALLOWED = re.compile("|".join(f"(?:{pattern})" for pattern in ALLOWED), re.ASCII)


def refused_flags(flags: Sequence[str]) -> str:
    """Why a candidate with these flags is not compiled; empty where nothing stands against them."""
    refused = [flag for flag in flags if _ALLOWED.fullmatch(flag) is None]
    return f"flags {refused} are not allowed; allowed are {WORDS}" if refused else ""


def spelled(flags: Sequence[str]) -> list[str]:
    """The same with two dashes, as both compilers take them; -O3 is what they do anyway."""
    long = [re.sub(r"^--?(?!D)", "--", flag) for flag in flags if flag != "-O3"]
    return long if any(flag.startswith("--std") for flag in long) else ["--std=c++17", *long]


def architecture(arch: str) -> str:
    """What to compile for: with the features that only this architecture has (wgmma, TMA, tcgen05), where it has any."""
    return f"{arch}a" if int(arch.removeprefix("sm_")) >= 90 else arch
