"""Device code within a shared object: the binary, and the call that registers each kernel under its stub's address.

The same calls of the CUDA runtime that NVIDIA's compiler has a program make when it is loaded (`fatbinary_section.h`,
`crt/host_runtime.h`).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_TEMPLATE = """__asm__(".section .nv_fatbin,\\"a\\"\\n.align 8\\nkernelwright_device:\\n.incbin \\"{file}\\"\\n.previous\\n");
extern const char kernelwright_device[] __attribute__((visibility("hidden")));
extern void **__cudaRegisterFatBinary(void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaUnregisterFatBinary(void **);
extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
static struct {{ int magic, version; const void *data; void *unused; }} wrapper
    __attribute__((section(".nvFatBinSegment"), aligned(8))) = {{0x466243b1, 1, kernelwright_device, 0}};
static void **handle;
{declared}
__attribute__((constructor)) static void load(void) {{
  handle = __cudaRegisterFatBinary(&wrapper);
{registered}
  __cudaRegisterFatBinaryEnd(handle);
}}
"""


class Kernel(NamedTuple):
    """A kernel's stub in compiled host code."""

    symbol: str
    signature: str
    """The symbol as C++ writes it: `void scale<float>(float const*, int)`."""

    @property
    def name(self) -> str:
        """Without namespaces, template arguments and parameters."""
        return _base(self.signature)

    @property
    def template(self) -> bool:
        """Whether it is an instance of a template; only those carry their result's type."""
        return self.signature.startswith("void ")


def registration(kernels: Iterable[Kernel], file: str) -> str:
    """A C file that carries the device code in `file` and registers `kernels`."""
    symbols = [kernel.symbol for kernel in kernels]
    return _TEMPLATE.format(
        file=file,
        declared="\n".join(f"extern char {symbol}[];" for symbol in symbols),
        registered="\n".join(
            f'  __cudaRegisterFunction(handle, {s}, (char *)"{s}", "{s}", -1, 0, 0, 0, 0, 0);' for s in symbols
        ),
    )


def instances(kernels: Iterable[Kernel]) -> str:
    """Explicit instantiations for device code of the templates' instances that host code launches."""
    wanted = [f"template __global__ {kernel.signature};" for kernel in kernels if kernel.template]
    return "\n" + "\n".join(wanted) + "\n" if wanted else ""


def stubs(symbols: str, readable: str, names: Iterable[str]) -> list[Kernel]:
    """The kernels `names` among an object's symbols, as `nm` lists them plainly and in C++, in the same order."""
    known, found = set(names), []
    for plain, written in zip(symbols.splitlines(), readable.splitlines(), strict=True):
        fields, signature = plain.split(), written.split(maxsplit=2)[-1]
        if len(fields) == 3 and fields[1] in "TWV" and _base(signature) in known:
            found.append(Kernel(fields[2], signature))
    return found


def _base(signature: str) -> str:
    head = re.split(r"[<(]", signature.removeprefix("void "), maxsplit=1)[0]
    return head.rsplit("::", 1)[-1].strip()
