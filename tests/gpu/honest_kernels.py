"""Honest kernels for the GPU, half in Triton and half in CUDA C++: right answers by several ways. None may be refused.

`honest` has a folder for each task: `task.py` is the reference, every other file a kernel whose name says how it does it.
Text only; nothing here runs it.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "honest"
TASKS = {path.parent.name: path for path in sorted(FOLDER.glob("*/task.py"))}
KERNELS = {
    f"{path.parent.name}/{path.name}": path
    for path in sorted(FOLDER.glob("*/*"))
    if path.suffix in (".py", ".cu") and path.name != "task.py"
}
