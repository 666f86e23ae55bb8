"""How a person uses what a run found: where the files are, the lines of Python, the command lines."""

import shlex
from dataclasses import dataclass

from kernelwright.languages import language
from kernelwright.records.attempt import Attempt

PYTHON = """from {module} import ModelNew

new = ModelNew(...)  # what Model is made with
new.load_state_dict(old.state_dict())  # the weights of the module whose place it takes
with torch.no_grad():
    y = new(x)
"""


@dataclass(frozen=True)
class Files:
    """What a run has left, as paths that a command line takes; empty for what is not there."""

    kernel: str = ""
    """The best kernel as a drop-in `ModelNew`."""
    receipt: str = ""
    guarded: bool = True
    """Whether the drop-in calls `Model` for what its kernel is not for; a module that a model wrote is as it was judged."""


NO_FILES = Files()


@dataclass(frozen=True)
class UseStep:
    """Something to copy, and what it is for."""

    title: str
    text: str


def steps(files: Files) -> list[UseStep]:
    """From the file to a call and a check; nothing where no drop-in was written."""
    if not files.kernel:
        return []
    module = files.kernel.rsplit("/", 1)[-1].removesuffix(".py")
    found = [
        UseStep("The file", files.kernel),
        UseStep("In place of Model", PYTHON.format(module=module)),
    ]
    if files.receipt:
        found.append(
            UseStep("Measure it again, here or elsewhere", f"kernelwright verify {shlex.quote(files.receipt)}")
        )
    return found


def needs(best: Attempt) -> str:
    """What a drop-in needs beside PyTorch, in a kernel's language."""
    compiled = language(best.proposal.candidate.language).drop_in == "compiled"
    return " and a C++ compiler" if compiled else " and what the kernel imports"
