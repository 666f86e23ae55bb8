"""How the grader and its children speak: a command travels in a `Question` and its reply in an `Answer`, as JSON.

Both ends build and read messages as records, so that a field which is missing, unknown or of a wrong type is found at the
boundary. A child is hostile: the numbers that it says are bounded, and whatever does not fit its record raises
MalformedError, never anything else. What can be said stands beside this file: `calls` for processes that compute, `tools`
for compilers and profilers, `entrypoints` for who takes what.

To add a command: a record with a `kind` and its reply as the parameter, its row in `entrypoints.ENTRYPOINTS`, a handler in
the child.
"""

from functools import cache
from typing import Annotated, Generic, TypeVar

from pydantic import BeforeValidator, FailFast, Field, SerializeAsAny, ValidationError

from kernelwright.records.base import Record, complaint

T = TypeVar("T")


class MalformedError(ValueError):
    """A message that our own code would not send; says which, and at which field."""


class UnreadableError(MalformedError):
    """It is no JSON object at all."""


def legible(value: object) -> object:
    """Text as it can be sent and stored: half a surrogate pair, which Python can hold, cannot be."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]
"""A number in the range of honest ones: no arithmetic of ours overflows on it."""
Address = Annotated[int, Field(strict=True, ge=-1, lt=1 << 62)]
"""Where something lies; -1 where there was no room for it."""
Count = Annotated[int, Field(strict=True, ge=1, lt=1 << 31)]
Figure = Annotated[float, Field(strict=True, ge=0, lt=1e12, allow_inf_nan=False)]
"""A time or a rate."""
Text = Annotated[str, BeforeValidator(legible)]
Many = Annotated[tuple[T, ...], FailFast()]
"""Any number of them; reading stops at the first that is wrong."""


class Reply(Record):
    """What a child says to a command."""


class Done(Reply):
    """There is nothing to tell."""


class Raised(Record):
    """Untrusted code raised, or its fault was found."""

    error: Text
    log: Text = ""


R = TypeVar("R", bound=Reply)


class Command(Record, Generic[R]):
    """What the grader wants of a child; `R` is the reply."""

    files: tuple[int, ...] = Field(default=(), exclude=True)
    """Descriptors that travel beside the message; here they are those of whoever holds the record."""

    @property
    def name(self) -> str:
        """What it is called on the wire."""
        return str(type(self).model_fields["kind"].default)


C = TypeVar("C")


class Question(Record, Generic[C]):
    """A command on its way."""

    serial: int
    """Secret until it is put, so that no answer can be prepared."""
    command: SerializeAsAny[C]


class Answer(Record, Generic[R]):
    """What came back: the reply, or what was raised in its place."""

    serial: Whole
    reply: SerializeAsAny[R] | None = None
    raised: Raised | None = None


def read_answer(data: bytes, command: Command[R]) -> Answer[R]:
    """The answer of a packet that came after `command`.

    Raises:
        UnreadableError: it is no JSON object.
        MalformedError: it is another one than our own code sends.
    """
    try:
        answer = _answer_to(type(command)).model_validate_json(data)
    except ValidationError as error:
        raise refused(error, f"answer to {command.name}") from None
    if (answer.reply is None) == (answer.raised is None):
        raise MalformedError(f"answer to {command.name}: neither a reply nor what was raised, or both")
    return answer


def refused(error: ValidationError, what: str) -> MalformedError:
    """The first field that is wrong, and why, without what stood there: it may be long, or hostile."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:40] for part in first["loc"][:8])
    kind = MalformedError if where else UnreadableError
    return kind(f"{what}: {where}{': ' if where else ''}{complaint(first)[:200]}")


@cache
def _answer_to(kind: type[Command[R]]) -> type[Answer[R]]:
    commands = (base for base in kind.__mro__ if issubclass(base, Command))
    (reply,) = next(args for base in commands if (args := base.__pydantic_generic_metadata__["args"]))
    return Answer[reply]  # type: ignore[valid-type]
