"""Fault: why a candidate did not get through, as a value; and the one boundary that makes it.

Of an exception that untrusted code raised, a person or a model reads the candidate's own lines and the last message.
The pipeline maps kinds of faults to outcomes. Not caught: SystemExit and signals end the process, and the parent sees
that.
"""

import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from kernelwright.records.base import Record

FaultKind = Literal[
    "build", "run", "out_of_bounds", "race", "deadlock", "undefined_lanes", "unwritten", "assertion", "unsupported"
]
INTERPRETER, REPAIRS = ("triton", "runtime", "interpreter.py"), {"builder.py", "bfloat16.py", "combine.py"}
LOG_LINES = 60
LOG_CHARACTERS = 6000


class Fault(Record):
    """What went wrong in the candidate's own code."""

    kind: FaultKind
    """`build`: it does not import or compile, or needs more than the device has; `run`: it raised; `unsupported`: nothing is
    known of it, since this machine cannot run what it does; all others: the interpreter saw it."""
    log: str
    """The candidate's frames and the message, short enough for a prompt."""


class CandidateError(Exception):
    """Raised by our own checks inside untrusted frames; carries the kind of fault."""

    kind: FaultKind = "run"


class BuildError(CandidateError):
    """The file lacks what a candidate must have."""

    kind: FaultKind = "build"


class UnsupportedError(CandidateError):
    """The operation exists on the device, but not here; no verdict follows from it."""

    kind: FaultKind = "unsupported"


class Boundary:
    """A context in which untrusted code runs: whatever it raises becomes `fault`.

    Args:
        source: the candidate's file; frames of other files are left out of the log.
        kinds: the kind of fault for exceptions that are not ours.

    `default` is the kind of all others: `build` until the code inside says that the file is loaded.
    """

    def __init__(self, source: Path, kinds: Mapping[type[BaseException], FaultKind] | None = None) -> None:
        self.fault: Fault | None = None
        self.default: FaultKind = "build"
        self._source = source
        self._kinds = kinds or {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.fault = Fault(kind=self._kind(error), log=describe(error, self._source))
        return True

    def _kind(self, error: BaseException) -> FaultKind:
        for link in _chain(error):
            if isinstance(link, CandidateError):
                return link.kind
            for known, kind in self._kinds.items():
                if isinstance(link, known):
                    return kind
        return "unsupported" if self.default == "run" and _of_the_interpreter(error) else self.default


def _of_the_interpreter(error: BaseException) -> bool:
    """Whether it was raised inside Triton's interpreter or our repairs of it, by an operation that the compiler took."""
    *_, innermost = _chain(error)
    files = (Path(frame.filename) for frame in reversed(traceback.extract_tb(innermost.__traceback__)))
    raised = next((file for file in files if "numpy" not in file.parts), Path())
    return raised.parts[-3:] == INTERPRETER or (raised.parent == Path(__file__).parent and raised.name in REPAIRS)


def describe(error: BaseException, source: Path) -> str:
    """The candidate's frames, outermost first, then the message of the innermost cause that has one."""
    frames = [
        f"{source.name}:{frame.lineno} in {frame.name}: {frame.line}"
        for link in _chain(error)
        for frame in traceback.extract_tb(link.__traceback__)
        if Path(frame.filename) == source
    ]
    lines = [*dict.fromkeys(frames), *_message(error).splitlines()]
    return clip("\n".join(lines).replace(str(source), source.name))


def clip(text: str) -> str:
    """The head and the tail of a long text, with the middle left out and said so."""
    lines = text.splitlines()
    if len(lines) > LOG_LINES:
        half = LOG_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines left out …", *lines[-half:]]
    text = "\n".join(lines)
    if len(text) > LOG_CHARACTERS:
        half = LOG_CHARACTERS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return text


def _message(error: BaseException) -> str:
    """Triton wraps: the outer message shows the place, the inner one the reason; each is said once."""
    said: list[str] = []
    for link in _chain(error):
        text = str(link).strip()
        if type(link).__name__ == "InterpreterError" and link.__cause__ is not None:
            continue  # its text is the repr of its cause
        if text and not any(text in earlier for earlier in said):
            # Our own checks speak in sentences.
            said.append(text if isinstance(link, CandidateError) else f"{type(link).__name__}: {text}")
    return "\n".join(said) or type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__
