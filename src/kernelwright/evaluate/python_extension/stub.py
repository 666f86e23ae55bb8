"""What host code needs of a kernel: a function of the same name that launches it, and calls in place of `<<< >>>`.

The scheme is the one of NVIDIA's own compiler: a launch pushes its configuration and calls the stub, which takes it
back and launches the kernel that is registered under the stub's address.
"""

import re

from kernelwright.evaluate.python_extension.text import UnclearError, closing, split_list

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
