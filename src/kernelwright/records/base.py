"""The base of every record, and the one identity function.

Records are frozen, closed and plain data. Identity is the hash of canonical JSON of every field that changes behaviour.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError


class Record(BaseModel):
    """A frozen value that can be stored as JSON and read back equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A changed copy, without what the original had cached: its identity must be its own."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(copy).model_fields.keys():
            del copy.__dict__[name]
        return copy


DIGITS = 16
"""Hex digits of an identity."""


def identity(kind: str, fields: Mapping[str, JsonValue], digits: int = DIGITS) -> str:
    """Content identity of a noun: the first hex digits of the SHA-256 of canonical JSON.

    The kind is hashed too, so two nouns with equal fields differ; canonical JSON keeps fields apart,
    so no two splits of a text can collide.
    """
    return text_identity(json.dumps([kind, dict(fields)], sort_keys=True, separators=(",", ":")), digits)


def text_identity(text: str, digits: int = DIGITS) -> str:
    """Content identity of one text: the first hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def complaint(fault: "ErrorDetails") -> str:
    """What is wrong with a value, in the words of whoever checks it, without pydantic's own before them."""
    return fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def first_fault(error: "ValidationError", whole: str = "the whole") -> tuple[str, str]:
    """Where the first fault of a value lies, such as `sizes.n`, and what is wrong there; `whole` stands for no place."""
    fault = error.errors()[0]
    return ".".join(map(str, fault["loc"])) or whole, complaint(fault)
