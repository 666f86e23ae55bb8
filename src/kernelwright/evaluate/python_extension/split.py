"""A `.cu` with torch's headers as two texts: device code without torch for nvcc, host code without kernels for g++.

Nvcc reads torch's headers three times and cannot precompile them; g++ reads them precompiled. Each item of the file
goes to one or both. What is not understood is not split: the caller then compiles the whole, slowly and safely. Both
texts keep the line numbers.
"""

import re
from dataclasses import dataclass

from kernelwright.evaluate.python_extension.stub import kernel_name, launches_called, stub
from kernelwright.evaluate.python_extension.text import Item, UnclearError, closing, items, masked

_ONLY_NVCC = re.compile(
    r"__CUDACC__|__NVCC__|__CUDA_ARCH__\s*\?|\bthrust\b|\bcub::Device|\]\s*(?:\([^()]*\)\s*)?__(?:host|device)__"
    r"|\basm\s+volatile\s+goto|__managed__|texture\s*<|cudaMemcpy(?:To|From)Symbol|cudaGetSymbol"
)
"""What only the real compiler gets right."""
_HOST_LIBRARY = re.compile(
    r"\b(?:torch|at|pybind11|py)\s*::|\bnamespace\s+(?:torch|at|c10)\b|\bc10::(?!Half\b|BFloat16\b|complex\b)|\bTORCH_\w+|\bPYBIND11\w+"
)
_DEVICE_LIBRARY = re.compile(r"\b(?:cooperative_groups|nvcuda|cub|cuda)\b(?!\s*\.h)")
_HOST_INCLUDE = re.compile(r"#\s*include\s*[<\"](?:torch|ATen|c10|pybind11|caffe2|Python\.h)")
_DEVICE_INCLUDE = re.compile(
    r"#\s*include\s*[<\"](?:cooperative_groups|cub|mma\.h|cuda/|cuda_pipeline|curand_kernel|cute|cutlass)"
)
_NUMBERS = "#include <c10/util/BFloat16.h>\n#include <c10/util/Half.h>\n#include <c10/util/complex.h>\n"


@dataclass(frozen=True)
class Split:
    """The two texts."""

    device: str
    host: str
    kernels: tuple[str, ...]
    """Names of the kernels that are defined."""
    templates: bool
    """Whether some are templates, so that the instances must be read from the compiled host code."""


def split(source: str) -> Split:
    """Split a source.

    Raises:
        UnclearError: it cannot be done surely; the message says why.
    """
    source = _named_namespaces(source)
    code = masked(source)
    if found := _ONLY_NVCC.search(code):
        raise UnclearError(f"it says {found[0]!r}, which only nvcc understands")
    device, host = [], []
    kernels: list[str] = []
    templates = False
    end = 0
    for item in items(code):
        gap = source[end : item.start]
        text, seen = source[item.start : item.end], code[item.start : item.end]
        keep = _sides(item, seen)
        if "__global__" in seen and item.kind == "function":
            head = code[item.start : item.body]
            kernels.append(kernel_name(head))
            templates |= "template" in head
            text = re.sub(r"\bstatic\b", "      ", source[item.start : item.body]) + source[item.body : item.end]
        device += [gap, text if "device" in keep else _blank(text)]
        host += [gap, _for_host(item, text, seen) if "host" in keep else _blank(text)]
        end = item.end
    made = "".join(device) + source[end:]
    return Split(made, "".join(host) + source[end:], tuple(kernels), templates)


def with_numbers(device: str, instances: str) -> str:
    """Device code and the instances of its templates, with torch's number types where one of them names any."""
    named = re.search(r"\b(?:c10::(?:Half|BFloat16|complex)|at::(?:Half|BFloat16))\b", masked(device) + instances)
    return f"{_NUMBERS if named else ''}#line 1\n{device}{instances}"


def _sides(item: Item, seen: str) -> set[str]:
    """Who gets an item."""
    if item.kind == "directive":
        return _sides_of_directive(seen)
    if item.kind == "scope" or "__global__" in seen:
        return {"device", "host"}
    if item.kind == "function":
        return _sides_of_function(seen[: item.body - item.start], seen)
    return _sides_of_declaration(seen)


def _sides_of_directive(seen: str) -> set[str]:
    if re.search(r"__global__|__device__|<<<", seen):
        raise UnclearError("a macro that makes kernels or launches")
    if _HOST_INCLUDE.match(seen):
        return {"host"}
    return {"device"} if _DEVICE_INCLUDE.match(seen) else {"device", "host"}


def _sides_of_declaration(seen: str) -> set[str]:
    variable = "__constant__" in seen or ("__device__" in seen and "(" not in seen)
    if variable and not re.search(r"\b(?:struct|class)\b", seen):
        return {"device"}
    if _HOST_LIBRARY.search(seen):
        return {"host"}
    return {"device"} if _DEVICE_LIBRARY.search(seen) else {"device", "host"}


def _is_device_variable(item: Item, head: str) -> bool:
    """Whether it declares memory of the device's, which the host has no name for."""
    marked = "__constant__" in head or ("__device__" in head and item.kind == "declaration" and "(" not in head)
    return marked and not re.search(r"\b(?:struct|class)\b", head)


def _sides_of_function(head: str, seen: str) -> set[str]:
    if "__host__" in head and "__device__" in head:
        return {"device", "host"}
    if "__device__" in head:
        return {"device"}
    if re.search(r"\bconstexpr\b", head) and not _HOST_LIBRARY.search(seen):
        return {"device", "host"}
    return {"host"}


def _for_host(item: Item, text: str, seen: str) -> str:
    if item.kind == "function" and "__global__" in seen:
        body = item.body - item.start
        return text[:body] + stub(masked(text[:body])) + "\n" * text[body:].count("\n")
    if item.kind == "declaration" and "__device__" in seen:
        return _without_device_bodies(text, seen)
    if item.kind == "function":
        if "__device__" in seen[item.body - item.start :]:
            raise UnclearError("device code within a function")
        return launches_called(text, seen)
    return text


def _without_device_bodies(text: str, seen: str) -> str:
    """A struct whose methods for the device alone have no body: host code names the type and never calls them."""
    made, done = [], 0
    for match in re.finditer(r"__device__", seen):
        if match.start() < done:
            continue
        around = seen[max(done, seen.rfind(";", 0, match.start()), seen.rfind("}", 0, match.start())) : match.start()]
        opened = _body_after(seen, match.end())
        if opened is None or "__host__" in around or "__host__" in seen[match.end() : opened]:
            continue
        end = closing(seen, opened) + 1
        made += [text[done:opened], "{ __builtin_trap(); }", "\n" * text[opened:end].count("\n")]
        done = end
    return "".join([*made, text[done:]])


def _body_after(seen: str, start: int) -> int | None:
    position = start
    while position < len(seen):
        if seen[position] == "{":
            return position
        if seen[position] == ";":
            return None
        position = closing(seen, position) + 1 if seen[position] in "([" else position + 1
    return None


def _named_namespaces(source: str) -> str:
    """Unnamed namespaces with a name: what is in them has to be known by the same symbol on both sides."""
    code = masked(source)
    made, done = [], 0
    for match in re.finditer(r"\bnamespace(\s*)\{", code):
        made += [source[done : match.start()], f"inline namespace kernelwright_unnamed{match[1]}{{"]
        done = match.end()
    return "".join([*made, source[done:]])


def _blank(text: str) -> str:
    return "\n" * text.count("\n")
