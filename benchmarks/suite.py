"""The suite under `tasks/`, as `tasks/suite.toml` lists it: for the benches that go through all of it."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.task import TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

ROOT = Path(__file__).parents[1] / "tasks"


class Listed(NamedTuple):
    """One task of the list."""

    name: str
    """Folder and stem, such as `fsr/relu`."""
    family: str
    operations: tuple[str, ...]
    """Of its OpGraph, without `aten.` and without views."""

    def source(self, size: str) -> TaskSource:
        """The task at one of its sizes."""
        return read_task(with_size(ROOT / f"{self.name}.py", size))


def listed(folder: str = "") -> list[Listed]:
    """Every task, or those of one folder, in the list's order."""
    table = tomllib.loads((ROOT / "suite.toml").read_text())
    tasks = [Listed(t["file"].removesuffix(".py"), t["family"], tuple(t["operations"])) for t in table["task"]]
    return [task for task in tasks if task.name.startswith(folder)]
