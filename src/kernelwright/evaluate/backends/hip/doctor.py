"""Doctor's look at AMD: which GPU the kernel driver knows, and whether kernels can be compiled for one.

Nothing of ROCm is asked: the driver lists its devices in sysfs, and the compiler is Triton's own.
"""

import re
import sys
from pathlib import Path

from kernelwright.devices import kinds
from kernelwright.evaluate.backends import look
from kernelwright.pages import page
from kernelwright.records.run import Check

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""A folder for each device of AMD's kernel driver, CPUs among them."""
COMPILER = "from triton.backends.amd.compiler import HIPBackend; from triton._C.libtriton import amd; amd.link_hsaco"
_VERSION = re.compile(r"^gfx_target_version (\d+)$", re.MULTILINE)


def checks() -> list[Check]:
    """What is here of AMD, and what can be done without."""
    here = gpus(NODES)
    found = f"{', '.join(here)} is here and cannot be timed yet" if here else "no AMD GPU is here"
    done = look.run([sys.executable, "-c", COMPILER])
    if done is None or done.returncode:
        fix = "For --target gfx942: pip install 'triton>=3.5'."
        return [Check(name="amd gpu", status="lost", detail=f"{found}, and Triton cannot compile for one", fix=fix)]
    able = ", ".join(kinds()["hip"].architectures)
    told = f"{found}: kernels for {able} are compiled by Triton and verified by its interpreter"
    if here:
        return [Check(name="amd gpu", status="lost", detail=told, fix=f"{page('hip.md')} says what is missing.")]
    return [Check(name="amd gpu", status="ok", detail=told)]


def gpus(nodes: Path) -> list[str]:
    """Architectures of the GPUs that AMD's driver lists, such as `gfx942`."""
    texts = [file.read_text(errors="replace") for file in sorted(nodes.glob("*/properties"))]
    versions = [int(found[1]) for text in texts if (found := _VERSION.search(text))]
    return [f"gfx{v // 10000}{v // 100 % 100:x}{v % 100:x}" for v in versions if v]
