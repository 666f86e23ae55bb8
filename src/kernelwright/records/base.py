"""The base of every record, and the one identity function.

Records are frozen, closed and plain data. Identity is the hash of canonical JSON of every field that changes behaviour.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Record(BaseModel):
    """A frozen value that can be stored as JSON and read back equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A changed copy, without what the original had cached: its identity must be its own."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(copy).model_fields.keys():
            del copy.__dict__[name]
        return copy


def identity(kind: str, fields: Mapping[str, JsonValue]) -> str:
    """Content identity of a noun: 16 hex digits of the SHA-256 of canonical JSON.

    The kind is hashed too, so two nouns with equal fields differ; canonical JSON keeps fields apart,
    so no two splits of a text can collide.
    """
    text = json.dumps([kind, dict(fields)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def complaint(fault: "ErrorDetails") -> str:
    """What is wrong with a value, in the words of whoever checks it, without pydantic's own before them."""
    return fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
