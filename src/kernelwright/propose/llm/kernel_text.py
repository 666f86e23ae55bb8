"""Turns a kernel's text into a Candidate, if it is what was asked for; otherwise says why not, for the model to read.

`tasks.kernel_file` does the reading, as for anybody's text. Nothing is run.
"""

import ast
import re
import warnings
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.propose.llm.blocks import sound
from kernelwright.records.candidate import SUFFIXES, Candidate, Language
from kernelwright.tasks.kernel_file import language_of, parse_text

_MODEL = re.compile(r"^class[ \t]+ModelNew\b", re.MULTILINE)
_EXTERN = re.compile(r'extern\s*"C"')
_DEVICE = re.compile(r"\b__global__\b")

PLACEHOLDERS: dict[Language, str] = {"cpp": "kernel", "cuda": "kernel", "cuda_host": "kernel"}
"""Entry of a candidate without a source."""
WHAT: dict[Language, str] = {
    "cpp": 'a C++ file with one function `extern "C"`',
    "triton": "a Python module that defines `ModelNew` with Triton kernels",
    "python": "a Python module that defines `ModelNew` and builds its own extension",
    "cuda": "a `.cu` file with `__global__` kernels and a launch plan in a comment",
    "cuda_host": 'a `.cu` file with one host function `extern "C"`',
}  # fmt: skip
"""What is asked for, in words."""


class NoKernel(NamedTuple):
    """Why there is no kernel to judge: one sentence for the model."""

    reason: str


class Kernel(NamedTuple):
    """A kernel that can be judged."""

    candidate: Candidate


def empty(language: Language) -> Candidate:
    """What stands for a reply without a kernel; the referee refuses it."""
    return Candidate(language=language, source="", entry=PLACEHOLDERS.get(language, "ModelNew"))


def defines_kernel(source: str, language: Language) -> bool:
    """Whether a text seems to hold what the contract asks for."""
    if language in ("triton", "python"):
        return _MODEL.search(source) is not None
    if language in ("cuda", "cuda_host") and _DEVICE.search(source):
        return True
    return language != "cuda" and _EXTERN.search(source) is not None


def flaw(source: str) -> str:
    """Why a text cannot be read as Python, with the line; empty where it can."""
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "it is nested too deeply"
    return ""


def read(source: str, language: Language) -> Kernel | NoKernel:
    """The kernel in a source."""
    source = sound(source)
    if not defines_kernel(source, language):
        return NoKernel(f"it is not {WHAT[language]}")
    told = language_of(source, SUFFIXES[language])
    if told != language:
        return NoKernel(f"it is {WHAT[told]}, and what was asked for is {WHAT[language]}")
    try:
        return Kernel(parse_text(source, "cpu" if language == "cpp" else "cuda", language))
    except UsageError as error:
        return NoKernel(str(error))
