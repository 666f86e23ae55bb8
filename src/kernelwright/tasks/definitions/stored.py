"""Reads one tensor of a file, without numpy or PyTorch: `.safetensors` (a length, a table in JSON, bytes) and `.npy`."""

import ast
import json
from base64 import b64encode
from math import prod
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import JsonValue

from kernelwright.tasks.files import is_within

MOST_BYTES = 2 << 20
"""Of one tensor: it is written into a task's text."""
_SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_NPY = {
    "<f8": "float64", "<f4": "float32", "<f2": "float16", "<i8": "int64", "<i4": "int32", "<i2": "int16", "|i1": "int8",
    "|u1": "uint8", "|b1": "bool",
}  # fmt: skip


class Stored(NamedTuple):
    """A tensor as text."""

    dtype: str
    shape: list[int]
    data: str
    """In base64, dense and row-major."""

    @property
    def words(self) -> dict[str, JsonValue]:
        """As a literal of a task's text."""
        return {"stored": [self.dtype, list[JsonValue](self.shape), self.data]}


class _Place(NamedTuple):
    dtype: str
    shape: list[int]
    begin: int
    size: int


def read_stored(root: Path, path: str, key: str) -> Stored:
    """The tensor of this key (a `.npy` has one, without a key) in a file below a folder.

    Raises:
        ValueError: it is not there, too large, or no such file.
    """
    file = root / path
    if not is_within(root, file) or not file.is_file():
        raise ValueError(f"lies in {path!r}, which is not in its data set")
    with file.open("rb") as stream:
        try:
            place = _npy(stream) if file.suffix == ".npy" else _safetensors(stream, key)
        except (ValueError, KeyError, TypeError, SyntaxError, IndexError, RecursionError) as error:
            what = "is no dense little-endian .npy" if file.suffix == ".npy" else f"has no tensor {key!r}"
            raise ValueError(f"lies in {path!r}, which {what} ({error})") from None
        if place.size > MOST_BYTES:
            raise ValueError(
                f"lies in {path!r} and has {place.size:,} bytes, at most {MOST_BYTES:,} are written into a task's text: leave "
                "the workload out, or have it drawn"
            )
        stream.seek(place.begin)
        data = stream.read(place.size)
    if len(data) != place.size or place.size % max(1, prod(place.shape)):
        raise ValueError(f"lies in {path!r}, which ends early")
    return Stored(place.dtype, place.shape, b64encode(data).decode())


def _safetensors(stream: BinaryIO, key: str) -> _Place:
    length = int.from_bytes(stream.read(8), "little")
    told = json.loads(stream.read(min(length, MOST_BYTES)))[key]
    begin, end = told["data_offsets"]
    return _Place(_SAFETENSORS[told["dtype"]], [int(size) for size in told["shape"]], 8 + length + begin, end - begin)


def _npy(stream: BinaryIO) -> _Place:
    magic = stream.read(8)
    length = int.from_bytes(stream.read(2 if magic[6] == 1 else 4), "little")
    told = ast.literal_eval(stream.read(min(length, MOST_BYTES)).decode("latin-1").strip())
    if magic[:6] != b"\x93NUMPY" or (told["fortran_order"] and len(told["shape"]) > 1):
        raise ValueError("its values are stored by columns: save numpy.ascontiguousarray of it")
    size = prod(told["shape"]) * int(told["descr"][2:])
    return _Place(_NPY[told["descr"]], list(told["shape"]), stream.tell(), size)
