"""Kernels whose fate is known: the cheats of `tests/cheats` and `tests/gpu`, their twins, and honest kernels beside them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Effort
from kernelwright.records.task import TaskSource
from kernelwright.tasks.kernel_file import parse_text, read_kernel

CHEATS = Path(__file__).parents[1] / "tests" / "cheats"
ON_GPU = CHEATS.parent / "gpu"
ENTRY = re.compile(r'^extern "C" void (\w+)\(', re.MULTILINE)
SAID = re.compile(r"^// (task|flags): (.+)$", re.MULTILINE)


class Kernel(NamedTuple):
    """One of them."""

    name: str
    task: TaskSource
    candidate: Candidate
    twin: str = ""
    """The honest kernel that a cheat must not beat; empty: it is honest, or has none."""
    cheat: bool = False
    effort: Effort = "search"
    options: tuple[tuple[str, object], ...] = ()

    @property
    def key(self) -> str:
        """A changed kernel is another one."""
        texts = {"task": self.task.identity_fields(), "candidate": self.candidate.model_dump(mode="json")}
        return identity("attack", {"name": self.name, "effort": self.effort, **texts})


def on_cpu() -> Iterator[Kernel]:
    """All of `tests/cheats` that are files, the odd kernels, and those of unusual build."""
    sys.path[:0] = [str(CHEATS.parent), str(CHEATS)]
    from file_tasks import HONEST, OUTSIDE  # noqa: PLC0415 (the tests' own folders, which are no packages)
    from odd_kernels import ODD  # noqa: PLC0415
    from unusual_kernels import kernels  # noqa: PLC0415

    prelude = (CHEATS / "honest" / "prelude.h").read_text()
    for path in sorted((CHEATS / "honest").glob("*.cpp")):
        text, task = path.read_text(), HONEST[path.stem].source(path.stem)
        flags = tuple(dict(SAID.findall(text)).get("flags", "").split())
        for entry in ENTRY.findall(text):
            candidate = Candidate(language="cpp", source=prelude + text, entry=entry, flags=flags)
            yield Kernel(f"{path.stem}/{entry}", task, candidate)
    for path in sorted(CHEATS.glob("*sider/*.cpp")):
        task = dict(SAID.findall(path.read_text()))["task"]
        honest, source = f"{task}_honest", OUTSIDE[f"{path.parent.name}/{task}"].source(task)
        one = Kernel(f"{path.parent.name}/{path.stem}", source, read_kernel(path))
        yield one if path.stem == honest else one._replace(twin=f"{path.parent.name}/{honest}", cheat=True)
    for name, odd in ODD.items():
        source = TaskSource(name=name, format="kernelbench", source=odd.task)
        yield Kernel(f"odd/{name}", source, parse_text(odd.kernel, "cpu"))
    for one in (*kernels(".cpp"), *kernels(".cu")):
        yield Kernel(*one)


def in_the_interpreter() -> Iterator[Kernel]:
    """Honest kernels in Triton: those of unusual build, and those of `tests/gpu`."""
    sys.path[:0] = [str(CHEATS.parent), str(CHEATS)]
    from unusual_kernels import kernels  # noqa: PLC0415 (the tests' own folder, which is no package)

    for one in kernels(".py"):
        yield Kernel(*one)
    yield from (one for one in on_gpu() if one.name.startswith("honest/") and one.candidate.language == "triton")


def on_gpu() -> Iterator[Kernel]:
    """All of `tests/gpu` that are text."""
    sys.path[:0] = [str(CHEATS.parent), str(ON_GPU)]
    import gpu_cheats  # noqa: PLC0415 (the tests' own folder, which is no package)
    import gpu_cheats_cuda  # noqa: PLC0415
    import gpu_cheats_python  # noqa: PLC0415
    import honest_kernels  # noqa: PLC0415

    tasks = {n: TaskSource(name=n, format="kernelbench", source=text) for n, text in gpu_cheats.TASKS.items()}
    for name, kernel in gpu_cheats.TWINS.items():
        yield Kernel(f"twin/{name}", tasks[kernel.task], kernel.candidate())
    for name, candidate in honest_kernels.KERNELS.items():
        yield Kernel(f"honest/{name}", honest_kernels.TASKS[name.partition("/")[0]].source("task"), candidate)
    for kind, cheats in (("python", gpu_cheats_python.CHEATS), ("cuda", gpu_cheats_cuda.CHEATS)):
        for name, cheat in cheats.items():
            twin = f"twin/{cheat.twin}" if cheat.twin else ""
            options = tuple(sorted(cheat.options.items()))
            of = (tasks[cheat.kernel.task], cheat.kernel.candidate(), twin, True, cheat.effort, options)
            yield Kernel(f"{kind}/{name}", *of)
