"""Which module builds a language: one row each."""

from typing import TYPE_CHECKING

from kernelwright.evaluate.languages.cpp import build as cpp
from kernelwright.evaluate.languages.cuda import build as cuda
from kernelwright.evaluate.languages.cuda_host import build as cuda_host
from kernelwright.evaluate.languages.python import build as python
from kernelwright.evaluate.languages.triton import build as triton

if TYPE_CHECKING:
    from kernelwright.evaluate.languages.builder import Builder

BUILDERS: "dict[str, Builder]" = {
    "cpp": cpp,
    "triton": triton,
    "cuda": cuda,
    "cuda_host": cuda_host,
    "python": python,
}
