"""Arguments of a recipe's launches: `in0`, `work0`, `i32(in0.shape[1])`, `tensor_map(in0, box=(64, 64))` into records.

Checks which memory an argument names, that a number fits its width, and that a tensor map is complete. Whether the
kernel's parameters agree is checked against the binary.
"""

import ast
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.evaluate.languages.cuda.expression import Names, RecipeError, number_of, parsed
from kernelwright.records.launch import Argument, Null, Number, Pointer, TensorMap
from kernelwright.records.tensor import ITEM_BYTES, DType, TensorSpec

INTEGER_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
NUMBER_BYTES = {**{name: bits // 8 for name, bits in INTEGER_BITS.items()}, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Width of a number by its type."""
BUFFERS = {"in": "input", "param": "parameter", "out": "output", "work": "workspace"}
MAP_DTYPES: dict[DType, int] = {
    "uint8": 0, "int8": 0, "bool": 0, "int16": 1, "int32": 3, "int64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
"""CUtensorMapDataType, from cuda.h; signed bytes and words are moved as unsigned ones."""
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CUtensorMapSwizzle by the width in bytes."""
MAP_BYTES, MAP_ALIGNMENT, MAP_MOST_BOX, MAP_MOST_RANK = 128, 16, 256, 5


@dataclass(frozen=True)
class Memory:
    """What arguments may point to: the sizes of the buffers, by kind, and the tensors among them by name."""

    sizes: Mapping[str, Sequence[int]]
    tensors: Mapping[str, TensorSpec]

    def pointer(self, name: str, offset: int = 0) -> Pointer | None:
        """The buffer that `in0`, `param1`, `out0` or `work0` names, or None when it is no such name.

        Raises:
            RecipeError: there is no buffer of that number, or the offset lies outside it.
        """
        match = re.fullmatch(r"(in|param|out|work)(\d{1,4})", name)
        if match is None:
            return None
        kind, index = BUFFERS[match[1]], int(match[2])
        sizes = self.sizes[kind]
        if index >= len(sizes):
            raise RecipeError(
                f"there is no {name}: the number of {kind} buffers is {len(sizes)}, counted from {match[1]}0"
            )
        if not 0 <= offset <= sizes[index]:
            raise RecipeError(f"offset {offset} lies outside {name}, which has {sizes[index]} bytes")
        return Pointer.model_validate({"buffer": kind, "index": index, "offset": offset})


def argument(text: str, names: Names, memory: Memory) -> Argument:
    """One argument.

    Raises:
        RecipeError: it is not understood; the message says what would be.
    """
    tree = parsed(text)
    match tree:
        case ast.Name(id="null"):
            return Null()
        case ast.Name(id=name) if (found := memory.pointer(name)) is not None:
            return found
        case ast.Call(func=ast.Name(id="byte_offset"), args=[ast.Name(id=name), by], keywords=[]):
            found = memory.pointer(name, _integer(by, text, names))
            if found is not None:
                return found
        case ast.Call(func=ast.Name(id="tensor_map"), args=[ast.Name(id=name)], keywords=options):
            return _tensor_map(name, {o.arg or "**": o.value for o in options}, text, names, memory)
        case ast.Call(func=ast.Name(id=width), args=[value], keywords=[]) if width in NUMBER_BYTES:
            return _typed(width, number_of(value, text, names), text)
        case _:
            pass
    raise RecipeError(
        f"the argument {text!r} is not understood: say a buffer (in0, param0, out0, work0), byte_offset(work0, 256), null, "
        "a number with its width (i32(in0.numel), f32(1e-5)), or tensor_map(in0, box=(64, 64))"
    )


def size_of(passed: Argument) -> int:
    """Bytes that the argument takes among the kernel's parameters."""
    match passed:
        case Number(type=width):
            return NUMBER_BYTES[width]
        case TensorMap():
            return MAP_BYTES
        case _:
            return 8


def _typed(width: str, value: float, text: str) -> Number:
    if width in INTEGER_BITS:
        if isinstance(value, float):
            raise RecipeError(f"{text!r} gives an integer type the fraction {value}: use // or ceil_div(a, b)")
        bits = INTEGER_BITS[width]
        low, high = (-(1 << bits - 1), 1 << bits - 1) if width[0] == "i" else (0, 1 << bits)
        if not low <= value < high:
            raise RecipeError(f"{text!r} is {value}, which {width} cannot hold: take a wider type")
    elif width != "f64" and not _fits(width, value):
        raise RecipeError(f"{text!r} is {value}, which {width} cannot hold")
    return Number.model_validate({"type": width, "value": value})


def _fits(width: str, value: float) -> bool:
    try:
        return math.isfinite(value) and bool(struct.pack("<e" if width == "f16" else "<f", float(value)))
    except OverflowError:
        return False


def _integer(tree: ast.expr, text: str, names: Names) -> int:
    value = number_of(tree, text, names)
    if isinstance(value, float):
        raise RecipeError(f"{text!r} has the fraction {value} where an integer is needed")
    return value


def _tensor_map(name: str, options: dict[str, ast.expr], text: str, names: Names, memory: Memory) -> TensorMap:
    spec, pointer = memory.tensors.get(name), memory.pointer(name)
    if spec is None or pointer is None:
        raise RecipeError(f"in {text!r}: a tensor map is made of an input, a parameter or an output, not of {name!r}")
    unknown = options.keys() - {"box", "shape", "swizzle", "nan_fill"}
    if unknown or "box" not in options:
        raise RecipeError(f"in {text!r}: tensor_map takes box=(...), and may take shape=(...), swizzle=, nan_fill=")
    shape = _extents(options["shape"], text, names) if "shape" in options else spec.shape
    box = _extents(options["box"], text, names)
    swizzle = _integer(options["swizzle"], text, names) if "swizzle" in options else 0
    fill = bool("nan_fill" in options and _integer(options["nan_fill"], text, names))
    item = ITEM_BYTES[spec.dtype]
    if math.prod(shape) * item > spec.nbytes:
        raise RecipeError(f"in {text!r}: shape {list(shape)} is larger than {name}, which is {list(spec.shape)}")
    strides = [item * math.prod(shape[i + 1 :]) for i in range(len(shape) - 1)]
    _check_map(text, shape, box, strides, (item, swizzle))
    return TensorMap(
        pointer=pointer,
        dtype=MAP_DTYPES[spec.dtype],
        shape=shape[::-1],
        strides_bytes=tuple(strides[::-1]),
        box=box[::-1],
        swizzle=SWIZZLES[swizzle],
        nan_fill=fill,
    )


def _check_map(
    text: str, shape: Sequence[int], box: Sequence[int], strides: Sequence[int], layout: tuple[int, int]
) -> None:
    """What `cuTensorMapEncodeTiled` asks for (CUDA driver API reference)."""
    item, swizzle = layout
    wrong = ""
    if not 1 <= len(shape) <= MAP_MOST_RANK or len(box) != len(shape):
        wrong = f"shape {list(shape)} and box {list(box)} must have the same rank, 1 to {MAP_MOST_RANK}"
    elif any(not 1 <= b <= MAP_MOST_BOX for b in box):
        wrong = f"box {list(box)} has an extent outside 1 to {MAP_MOST_BOX}"
    elif swizzle not in SWIZZLES:
        wrong = f"swizzle is {swizzle}: say 0, 32, 64 or 128 bytes"
    elif box[-1] * item % MAP_ALIGNMENT or any(s % MAP_ALIGNMENT for s in strides):
        wrong = f"the box's last extent and all strides must be multiples of {MAP_ALIGNMENT} bytes"
    elif swizzle and box[-1] * item > swizzle:
        wrong = f"the box's last extent takes {box[-1] * item} bytes, more than the swizzle of {swizzle}"
    if wrong:
        raise RecipeError(f"in {text!r}: {wrong}")


def _extents(tree: ast.expr, text: str, names: Names) -> tuple[int, ...]:
    if not isinstance(tree, ast.Tuple | ast.List):
        raise RecipeError(f"in {text!r}: write extents in brackets, outermost first, such as (64, 64)")
    found = tuple(_integer(e, text, names) for e in tree.elts)
    if any(e < 1 for e in found):
        raise RecipeError(f"in {text!r}: extents {list(found)} must be positive")
    return found
