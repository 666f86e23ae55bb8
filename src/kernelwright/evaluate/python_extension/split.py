"""A `.cu` with torch's headers as two texts: device code without torch for nvcc, host code without kernels for g++.

Nvcc reads torch's headers three times and cannot precompile them; g++ reads them precompiled. Each item of the file
goes to one or both. What is not understood is not split: the caller then compiles the whole, slowly and safely. Both
texts keep the line numbers.

In host code each kernel becomes a stub, a function of the same name, and `<<< >>>` becomes calls, as NVIDIA's own compiler
does it: a launch pushes its configuration and calls the stub, which takes it back and launches the kernel that is
registered under the stub's address.

C++ is read as text: comments and strings masked, brackets matched, the items of a scope one after the other. A wrong guess
shows as a compiler's error, not as a wrong kernel.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_HIDDEN = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_OPEN, _CLOSE = "([{", ")]}"

PRELUDE = """#include <cuda.h>
#include <cuda_runtime.h>
#undef __launch_bounds__
#undef __cluster_dims__
#undef __grid_constant__
#undef __maxnreg__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, struct CUstream_st*);
extern "C" cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
namespace kernelwright_stub {
inline unsigned push(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0) {
  return __cudaPushCallConfiguration(grid, block, shared, stream);
}
inline void launch(const void* kernel, void** arguments) {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
    (void)cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
}
template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
template <typename... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, void (*kernel)(P...)) {
  return cudaFuncGetAttributes(found, (const void*)kernel);
}
template <typename... P>
cudaError_t cudaFuncSetCacheConfig(void (*kernel)(P...), cudaFuncCache config) {
  return cudaFuncSetCacheConfig((const void*)kernel, config);
}
template <typename... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...), int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)kernel, threads, shared);
}
"""
"""Stands before host code; the functions at its end are those that `cuda_runtime.h` keeps for NVIDIA's own compiler."""
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)?$")
_KERNEL_BEFORE = re.compile(r"(?:::\s*)?\w+(?:\s*::\s*\w+)*\s*$")
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


class UnclearError(Exception):
    """The text is not as this module can read it."""


@dataclass(frozen=True)
class Item:
    """One declaration, definition, opening of a scope, or preprocessor line: a stretch of the text."""

    kind: Literal["directive", "declaration", "function", "scope"]
    start: int
    end: int
    """Behind its last character; of a scope, behind its opening brace."""
    body: int = -1
    """Where the brace of a function's or scope's body opens."""


def masked(source: str) -> str:
    """The text with comments and literals as blanks, of equal length and with the same lines."""
    return _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def without_directives(code: str) -> str:
    """The same with preprocessor lines as blanks."""
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def closing(code: str, start: int) -> int:
    """The position of the bracket that closes the one at `start`.

    Raises:
        UnclearError: there is none.
    """
    depth = 0
    for position in range(start, len(code)):
        if code[position] in _OPEN:
            depth += 1
        elif code[position] in _CLOSE:
            depth -= 1
            if depth == 0:
                return position
    raise UnclearError(f"the bracket at character {start} is never closed")


def items(code: str) -> Iterator[Item]:
    """The items of a file, those within namespaces included, in order; `code` is masked.

    Raises:
        UnclearError: brackets do not match.
    """
    plain = without_directives(code)
    position = 0
    while position < len(code):
        if code[position].isspace() or plain[position] in "};":
            position += 1
            continue
        directive = _DIRECTIVE.match(code, position)
        if directive is None and plain[position].isspace():
            # Within a directive's line that began with blanks.
            directive = _DIRECTIVE.match(code, code.rfind("\n", 0, position) + 1)
        item = Item("directive", position, directive.end()) if directive else _item(plain, position)
        yield item
        position = item.end


def _item(plain: str, start: int) -> Item:
    position = start
    while position < len(plain):
        character = plain[position]
        if character == ";":
            return Item("declaration", start, position + 1)
        if character in "([":
            position = closing(plain, position)
        elif character == "{":
            head = plain[start:position].strip()
            if re.fullmatch(r"(?:inline\s+)?namespace\b[\w:\s]*|extern", head):
                return Item("scope", start, position + 1, position)
            end = closing(plain, position)
            if head.endswith(")") or re.search(r"\)\s*(?:const|noexcept|->\s*[\w:&*<>\s]+|:.*)$", head, re.DOTALL):
                return Item("function", start, end + 1, position)
            position = end
        position += 1
    raise UnclearError(f"the declaration at character {start} has no end")


def split_list(text: str) -> list[str]:
    """A list's parts at commas outside all brackets, `<` and `>` included; empty for an empty list."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[position - 1 : position] != "-"):
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts] if text.strip() else []


def stub(head: str) -> str:
    """The body of the stub for a kernel's definition, whose text before the body is `head`, masked.

    Raises:
        UnclearError: its parameters or its template's cannot be read.
    """
    opened = _parameters(head)
    name = re.search(r"(\w+)\s*$", head[:opened])
    if name is None:
        raise UnclearError(f"a kernel without a name: {head.strip()[:60]!r}")
    names = [_declared(p) for p in split_list(head[opened + 1 : closing(head, opened)])]
    kernel = name[1] + _instance(head[:opened])
    values = ", ".join(f"(void*)&{n}" for n in names) or "nullptr"
    return (
        f"{{ void* kernelwright_values[] = {{{values}}}; "
        f"::kernelwright_stub::launch((const void*)&{kernel}, kernelwright_values); }}"
    )


def kernel_name(head: str) -> str:
    """The name of a kernel's definition."""
    found = re.search(r"(\w+)\s*$", head[: _parameters(head)])
    if found is None:
        raise UnclearError(f"a kernel without a name: {head.strip()[:60]!r}")
    return found[1]


def launches_called(source: str, code: str) -> str:
    """Host code with each `kernel<<<grid, block>>>(…)` as a call of the stub; `code` is `source`, masked.

    Raises:
        UnclearError: a launch cannot be read.
    """
    made, done = [], 0
    for match in re.finditer("<<<", code):
        start, opened = _kernel_start(code, match.start()), match.end()
        closed = _configuration_end(code, opened)
        call = re.match(r"\s*\(", code[closed + 3 :])
        if call is None or start < done:
            raise UnclearError("a launch without arguments")
        end = closing(code, closed + 3 + call.end() - 1)
        made += [
            source[done:start],
            f"(::kernelwright_stub::push({source[opened:closed]}) ? (void)0 : {source[start : match.start()]}",
            launches_called(source[closed + 3 : end + 1], code[closed + 3 : end + 1]),
            ")",
        ]
        done = end + 1
    return "".join([*made, source[done:]])


def _configuration_end(code: str, start: int) -> int:
    position = start
    while position < len(code):
        if code.startswith(">>>", position):
            return position
        position = closing(code, position) + 1 if code[position] in "([{" else position + 1
    raise UnclearError("a launch whose <<< is never closed")


def _kernel_start(code: str, end: int) -> int:
    """Where the kernel's name before `<<<` begins: `a::b<T, 4>`."""
    position = len(code[:end].rstrip())
    if code[:position].endswith(">"):
        position = _opening(code, position - 1)
    match = _last_name(code[:position])
    if match is None:
        raise UnclearError("a launch of something that is no kernel's name")
    return match


def _opening(code: str, end: int) -> int:
    """Where the `<` stands that the `>` at `end` closes; what is in round brackets does not count."""
    angles = rounds = 0
    for position in range(end, -1, -1):
        character = code[position]
        rounds += (character == ")") - (character == "(")
        if not rounds:
            angles += (character == ">") - (character == "<")
            if not angles:
                return position
    raise UnclearError("a launch whose template arguments never open")


def _last_name(text: str) -> int | None:
    line = max(text.rfind(c) for c in ";{}()&|?,=!")
    match = _KERNEL_BEFORE.search(text, line + 1)
    return match.start() if match else None


def _parameters(head: str) -> int:
    """Where the parameter list opens: the last bracket at depth zero that is not a qualifier's."""
    opened, position = -1, 0
    while position < len(head):
        if head[position] == "(":
            if not re.search(
                r"(?:__launch_bounds__|__cluster_dims__|__attribute__|alignas|decltype)\s*$", head[:position]
            ):
                opened = position
            position = closing(head, position)
        position += 1
    if opened < 0:
        raise UnclearError(f"a kernel without parameters: {head.strip()[:60]!r}")
    return opened


def _declared(parameter: str) -> str:
    match = _NAME.search(parameter.split("=")[0].strip())
    if match is None or match[1] in ("int", "float", "double", "half", "const") or "..." in parameter:
        raise UnclearError(f"a kernel's parameter without a name: {parameter!r}")
    return match[1]


def _instance(head: str) -> str:
    """The template arguments that name the instance within its own body, such as `<T, N>`; empty without a template."""
    match = re.search(r"\btemplate\s*<", head)
    if match is None:
        return ""
    depth, position = 1, match.end()
    while depth and position < len(head):
        depth += (head[position] == "<") - (head[position] == ">")
        position += 1
    if re.search(r"\btemplate\s*<", head[position:]) or "..." in head[match.end() : position]:
        raise UnclearError("a kernel's template with a pack, or within a template")
    names = [_declared(p) for p in split_list(head[match.end() : position - 1])]
    return f"<{', '.join(names)}>"


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
