"""Secret: a key that can be used and cannot be shown.

It comes from an environment variable, and can be taken out of any text. It cannot be printed, pickled or compared, so
it reaches neither logs nor workers.
"""

import logging
import os
import re
from typing import NoReturn

from kernelwright.errors import UsageError

SHORTEST = 8
"""Characters. A shorter key is not looked for in texts: it would be found in innocent words."""
PLACEHOLDER = "none"
"""What a local endpoint that needs no key is sent."""
REDACTED = "[key]"
WIRES = ("httpcore", "httpcore2", "httpx", "httpx2", "openai._base_client", "anthropic._base_client")
"""Loggers that write down what an endpoint's headers say, which may be the key said back."""


class Secret:
    """A key, and where it came from."""

    __slots__ = ("_forms", "_key", "variable")

    def __init__(self, key: str, variable: str) -> None:
        self._key, self.variable = key, variable
        """The environment variable, for the fix in messages."""
        self._forms = re.compile("".join(map(_letter, key))) if len(key) >= SHORTEST else None

    def reveal(self) -> str:
        """The key itself, to hand to an SDK."""
        return self._key

    def redact(self, text: str) -> str:
        """The text without the key, whoever put it there."""
        return self._forms.sub(REDACTED, text) if self._forms else text

    def __repr__(self) -> str:
        return f"Secret({self.variable})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key does not leave the process that holds it")


def _letter(letter: str) -> str:
    """A pattern of one letter of a key as it is, as JSON escapes it, or as an address does."""
    if letter.isalnum():
        return letter
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(letter):02x}")
    return rf"(?:\\?{re.escape(letter)}|%{code}|\\u00{code})"


def find_secret(variable: str, model: str, local: bool) -> Secret:
    """The key in that environment variable; a placeholder for a local endpoint when there is none.

    From here on the SDKs log warnings only.

    Raises:
        UsageError: there is no key and the endpoint is not local, or it cannot be a key.
    """
    for name in WIRES:
        logging.getLogger(name).setLevel(logging.WARNING)
    key = os.environ.get(variable, "").strip()
    if not key and not local:
        raise UsageError(f"{model} needs a key: set the environment variable {variable}")
    if not key.isascii() or any(letter.isspace() or not letter.isprintable() for letter in key):
        raise UsageError(f"the environment variable {variable} has letters that no key has: was it copied in full?")
    return Secret(key or PLACEHOLDER, variable)
