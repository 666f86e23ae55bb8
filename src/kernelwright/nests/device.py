"""A file's code for the device: its functions, its constants, and what a GPU has not."""

import re
from collections.abc import Collection

from tree_sitter import Node

from kernelwright.nests.calls import PURE
from kernelwright.nests.edits import Edit, edited, over
from kernelwright.nests.loops import Nest
from kernelwright.nests.names import parameters, type_of
from kernelwright.nests.syntax import called, field, functions, parse, text, walk
from kernelwright.records.task import SerialSpec

BLOCK = 256
LIMITS = {
    ("max", "float"): "FLT_MAX", ("max", "double"): "DBL_MAX", ("max", "int"): "INT_MAX", ("min", "int"): "INT_MIN",
    ("min", "float"): "FLT_MIN", ("min", "double"): "DBL_MIN", ("lowest", "float"): "(-FLT_MAX)",
    ("lowest", "double"): "(-DBL_MAX)", ("lowest", "int"): "INT_MIN", ("infinity", "float"): "INFINITY",
    ("infinity", "double"): "((double)INFINITY)", ("epsilon", "float"): "FLT_EPSILON", ("epsilon", "double"): "DBL_EPSILON",
}  # fmt: skip
"""Of `std::numeric_limits`."""
ON_DEVICE = ("malloc", "calloc", "free", "memcpy", "memset", "clamp", "reinterpret_cast", "const_cast")


class CannotError(Exception):
    """The function has something that a kernel cannot."""


def refuse(nest: Nest) -> None:
    """What the device has not."""
    known = {*functions(parse(nest.code)), *PURE, *ON_DEVICE}
    odd = next((c for c in walk(nest.function, "call_expression") if called(c) not in known), None)
    if odd is not None:
        raise CannotError(f"a GPU has no {called(odd)}")


def for_device(nest: Nest, code: str, spec: SerialSpec, used: Collection[str]) -> str:
    """Functions and constants of the file for the device, and the function as a kernel."""
    code = edited(code, [edit for node in parse(code).named_children for edit in _on_device(node, spec.function)])
    pointers = [p for p, a in zip(parameters(nest.function), spec.arguments, strict=True) if a.pointer]
    listed = f"({', '.join(map(text, pointers))})"
    code = code.replace(f" {spec.function}{listed}", f" {spec.function}{listed[:-1]}, char* work, unsigned* gate)", 1)
    if "restrict-pointers" in used:
        alone = re.compile(r"\*\s*(?!_*restrict)(?=\w)")
        code = re.sub(rf"(?<= {spec.function}\()[^)]*", lambda m: alone.sub("* __restrict__ ", m[0]), code, count=1)
    for (name, kind), said in LIMITS.items():
        code = code.replace(f"std::numeric_limits<{kind}>::{name}()", said)
    # A local may have the name of a function of the library.
    code = re.sub(r"\bstd::(?=\w+(?<!_t)\()", "::", code).replace("std::", "")
    if "vector<" in code or "array<" in code:
        raise CannotError("it has containers")
    return code


def _on_device(node: Node, name: str) -> list[Edit]:
    """What a part of the file is on the device."""
    if node.type == "function_definition":
        own = any(text(i) == name for i in walk(field(node, "declarator"), "identifier"))
        kernel = f'extern "C" __global__ void __launch_bounds__({BLOCK}) '
        said = kernel if own else f"__device__ {type_of(node)} "
        return [(node.start_byte, field(node, "declarator").start_byte, said)]
    if node.type == "template_declaration":
        return _template(node)
    if node.type != "declaration":
        return []
    if not {"const", "constexpr"} & set(text(node).split()) and not any(walk(node, "function_declarator")):
        raise CannotError("it has variables outside of functions")
    if not any(walk(node, "array_declarator", "function_declarator")):
        return []  # a constant number is one on the device too
    return [over(node, "__device__ " + re.sub(r"\b(static|constexpr)\b", "", text(node)).strip())]


def _template(node: Node) -> list[Edit]:
    inner = next(walk(node, "function_definition"), None)
    if inner is None:
        return []
    return [(inner.start_byte, field(inner, "declarator").start_byte, f"__device__ {type_of(inner)} ")]
