"""The error model: a bad kernel is a value, broken machinery is an exception with its fix.

    KernelwrightError            exit  the message names the thing, what was expected, and what to do
    ├── UsageError                2    a flag, file or configuration that cannot work
    ├── TaskError                 3    the task is unreadable, raises, or cannot be judged
    ├── MachineError              4    this machine lacks something: a compiler, a GPU, namespaces, disk
    ├── StoreError                5    a run folder is missing, corrupt or of another configuration
    ├── RefereeError              6    the referee itself broke; never charged to a candidate
    ├── ProposeError              7    the proposer cannot write this task, by op name
    ├── ReceiptError              8    a receipt is unreadable, edited, of another version, or asks for too much
    └── ModelError               10    no answer of a language model could be had

A receipt or a run that was replayed and does not hold is a result and no error: exit code 9; so is PyTorch that stays: 11.
To add one: subclass here, give it an exit code and a line above; keep it constructible from its message
alone, so that it crosses process boundaries.
"""


class KernelwrightError(Exception):
    """The root. `str(error)` is one message for a person."""

    exit_code = 1


class UsageError(KernelwrightError):
    """The caller asked for something that cannot work."""

    exit_code = 2


class TaskError(KernelwrightError):
    """The task cannot be read, run or judged; `reason` names the class of why, for machines."""

    exit_code = 3

    def __init__(self, message: str = "", reason: str = "unfit") -> None:
        super().__init__(message)
        self.reason = reason
        """A name of `records.admission.Reason`."""


class MachineError(KernelwrightError):
    """This machine lacks what the request needs."""

    exit_code = 4


class StoreError(KernelwrightError):
    """A run folder cannot be read or written."""

    exit_code = 5


class RefereeError(KernelwrightError):
    """The referee broke; no verdict was reached."""

    exit_code = 6


class ProposeError(KernelwrightError):
    """No kernel can be written for this task by this proposer; names the operations."""

    exit_code = 7


class ReceiptError(KernelwrightError):
    """A receipt cannot be trusted to be one; nothing of it was run."""

    exit_code = 8


class ModelError(KernelwrightError):
    """A language model's endpoint gave no answer, after all retries. Never holds a key."""

    exit_code = 10

    def __init__(self, message: str = "", prompt: int = 0, completion: int = 0, usd: float | None = 0.0) -> None:
        super().__init__(message)
        self.prompt, self.completion, self.usd = prompt, completion, usd
        """Tokens that were billed all the same, and their price; None where it is not known."""
