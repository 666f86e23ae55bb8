"""Turns a tool call's arguments, which are a model's own text, into a record, or into one sentence on what is wrong."""

from pydantic import ValidationError

from kernelwright.errors import UsageError
from kernelwright.records.chat import ToolCall
from kernelwright.records.tools import ARGUMENTS, CODE_CHARACTERS, CodeArguments, SearchArguments

ARGUMENTS_CHARACTERS = 8 * CODE_CHARACTERS
"""The longest arguments of a call as JSON: a code with every character escaped, and no more."""


def read_arguments(call: ToolCall) -> CodeArguments | SearchArguments:
    """The arguments of a call.

    Raises:
        UsageError: there is no such tool, or the arguments are not what its schema says.
    """
    if call.name not in ARGUMENTS:
        raise UsageError(f"there is no tool {call.name[:40]!r}; there are {', '.join(ARGUMENTS)}")
    if len(call.arguments) > ARGUMENTS_CHARACTERS:
        raise UsageError(f"the arguments are longer than {ARGUMENTS_CHARACTERS} characters: send less")
    try:
        return ARGUMENTS[call.name].model_validate_json(call.arguments.encode("utf-8", "replace"))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}".lstrip(": ") for f in error.errors()[:5])
        raise UsageError(f"the arguments of {call.name} do not fit its schema: {faults}") from None
