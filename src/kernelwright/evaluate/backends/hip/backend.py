"""AMD's GPUs. None is driven yet: Triton compiles for them on any machine, and its interpreter says what is right.

What a real device would need is listed in docs/hip.md, file by file.
"""

from collections.abc import Callable

import torch
import triton

from kernelwright.evaluate.backends.absent.backend import AbsentBackend
from kernelwright.evaluate.backends.host import ABSENT, Host
from kernelwright.evaluate.backends.table import parent_of
from kernelwright.languages import names_for


def open_backend(cpu: Callable[[], Host]) -> AbsentBackend:
    """See `table.Row`: assembler and linker are Triton's own, so that ROCm need not be here."""
    return AbsentBackend(parent_of("hip"), names_for("hip"), compiler_versions)


def compiler_versions() -> dict[str, str]:
    """Of what compiles."""
    return {"amd compiler": f"of triton {triton.__version__}", "rocm of torch": str(torch.version.hip or ABSENT)}
