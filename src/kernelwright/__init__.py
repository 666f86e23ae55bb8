"""Writes, proves and speeds up GPU kernels in a closed loop with measured feedback.

This is the interface for programs and notebooks. Importing it is cheap: each name is loaded when it is first used, and
torch when you hand in a live module. The code of tasks and kernels runs only in sandboxed processes, until
`Result.module()` loads a kernel that was proven.
"""

from importlib import import_module

from kernelwright.version import __version__

TYPE_CHECKING = False  # type checkers take it for True; the module `typing` would cost most of the import
if TYPE_CHECKING:
    from kernelwright.errors import KernelwrightError
    from kernelwright.interfaces.python.door import Result, capture, check, optimize
    from kernelwright.interfaces.python.referee import Referee
    from kernelwright.records.attempt import Attempt
    from kernelwright.records.candidate import Candidate
    from kernelwright.records.evaluation import Evaluation
    from kernelwright.records.task import Task, TaskSource
    from kernelwright.reward.table import Reward, find_reward

__all__ = [
    "Attempt",
    "Candidate",
    "Evaluation",
    "KernelwrightError",
    "Referee",
    "Result",
    "Reward",
    "Task",
    "TaskSource",
    "__version__",
    "capture",
    "check",
    "find_reward",
    "optimize",
]

_HOMES = {
    "errors": ("KernelwrightError",),
    "interfaces.python.door": ("Result", "capture", "check", "optimize"),
    "interfaces.python.referee": ("Referee",),
    "records.attempt": ("Attempt",),
    "records.candidate": ("Candidate",),
    "records.evaluation": ("Evaluation",),
    "records.task": ("Task", "TaskSource"),
    "reward.table": ("Reward", "find_reward"),
}


def __getattr__(name: str) -> object:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
