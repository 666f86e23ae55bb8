"""Turns a kernel's text into a Candidate, if it is what was asked for; otherwise says why not, for the model to read.

`tasks.kernel_file` does the reading, as for anybody's text. Nothing is run.
"""

import ast
import re
import warnings
from typing import NamedTuple

from kernelwright.errors import UsageError
from kernelwright.languages import language, language_of
from kernelwright.propose.llm.blocks import sound
from kernelwright.records.candidate import Candidate
from kernelwright.records.names import LanguageName
from kernelwright.tasks.kernel_file import parse_text


class NoKernel(NamedTuple):
    """Why there is no kernel to judge: one sentence for the model."""

    reason: str


class Kernel(NamedTuple):
    """A kernel that can be judged."""

    candidate: Candidate


def empty(name: LanguageName) -> Candidate:
    """What stands for a reply without a kernel; the referee refuses it."""
    return Candidate(language=name, source="", entry=language(name).entry)


def defines_kernel(source: str, name: LanguageName) -> bool:
    """Whether a text seems to hold what the contract asks for."""
    return re.search(language(name).defines, source) is not None


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


def read(source: str, name: LanguageName) -> Kernel | NoKernel:
    """The kernel in a source."""
    source, asked = sound(source), language(name)
    if not defines_kernel(source, name):
        return NoKernel(f"it is not {asked.what}")
    told = language_of(source, asked.suffix)
    if told != asked:
        return NoKernel(f"it is {told.what}, and what was asked for is {asked.what}")
    try:
        return Kernel(parse_text(source, asked.targets[0], name))
    except UsageError as error:
        return NoKernel(str(error))
