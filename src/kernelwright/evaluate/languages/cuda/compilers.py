"""NVIDIA's compilers, the same for every language that they take: which flags a candidate may ask for, and what logs say."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kernelwright.records.measure import KernelFacts

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


_KERNEL = re.compile(r"Compiling entry function '([^']+)'")
_FIELDS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
}


class Usage(NamedTuple):
    """Resources of one kernel; of shared memory, the static part only."""

    registers: int | None
    spill_bytes: int | None
    """Bytes stored and loaded by spills, for each thread."""
    shared_bytes: int


def usages(log: str) -> dict[str, Usage]:
    """Usage by mangled name."""
    pieces = _KERNEL.split(log)
    return {name: _usage(text) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def kernel_facts(log: str) -> tuple[KernelFacts, ...]:
    """What is known of kernels that untrusted host code launches: not their blocks, nor dynamic shared memory."""
    return tuple(
        KernelFacts(name=plain(n), registers=u.registers, spill_bytes=u.spill_bytes, shared_bytes=u.shared_bytes)
        for n, u in usages(log).items()
    )


def plain(mangled: str) -> str:
    """The name of a kernel at file scope as its author wrote it; others stay as the binary has them."""
    match = re.match(r"_Z(\d+)", mangled)
    return mangled[match.end() :][: int(match[1])] if match else mangled


def messages(log: str) -> str:
    """What of a compiler's log is not the assembler's statistics."""
    kept = [line for line in log.splitlines() if line.strip("\0 ") and not _statistics(line)]
    return "\n".join(kept)


def _usage(text: str) -> Usage:
    found = {name: int(match[1]) for name, field in _FIELDS.items() if (match := field.search(text))}
    spills = found["spill_stores"] + found.get("spill_loads", 0) if "spill_stores" in found else None
    return Usage(found.get("registers"), spills, found.get("shared_bytes", 0))


def _statistics(line: str) -> bool:
    return line.startswith("ptxas info") or re.match(r"(?:ptxas\s+\.)?\s+\d+ bytes stack frame", line) is not None
