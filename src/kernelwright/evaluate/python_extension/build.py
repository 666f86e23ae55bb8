"""An extension built from texts, without torch's own build system: no ninja, no lock, nothing outside its folder.

C++ is compiled against the precompiled header. A `.cu` is split into device and host code where that is safe, else nvcc
compiles the whole. If a quick way failed because something was missing there, and not in the source, the build is done
again with torch's own headers.

The device code is put into the shared object, and each kernel is registered under its stub's address, by the calls that
NVIDIA's compiler has a program make when it is loaded (`fatbinary_section.h`, `crt/host_runtime.h`).
"""

import re
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from torch.utils import cpp_extension

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.python_extension import precompiled
from kernelwright.evaluate.python_extension.split import PRELUDE, Split, UnclearError, masked, split, with_numbers

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

_MISSING = re.compile(
    r"is not a member of|has not been declared|was not declared|does not name a|No such file|cannot open source file"
    r"|incomplete type|not a class or namespace|is not a template|no matching function|has no member"
)
"""Complaints that another set of headers could fix."""
_WHOLE_FLAGS = re.compile(r"-dc|-rdc|--relocatable|--extended-lambda|-extended-lambda|-x|--expt-extended")


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


class ExtensionError(RuntimeError):
    """The extension does not build; the message is the compiler's."""


@dataclass(frozen=True)
class Source:
    """One file of an extension."""

    name: str
    text: str

    @property
    def cuda(self) -> bool:
        """Whether it is for nvcc."""
        return self.name.endswith((".cu", ".cuh"))


@dataclass(frozen=True)
class Options:
    """What the candidate asked for."""

    name: str
    flags: list[str] = field(default_factory=list)
    cuda_flags: list[str] = field(default_factory=list)
    link_flags: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)


@dataclass
class Build:
    """One extension in a folder of its own."""

    folder: Path
    options: Options
    headers: Path
    """What `precompiled.precompile` or `precompiled.stand_ins` made."""
    arch: str
    """Such as `sm_90a`."""
    log: list[str] = field(default_factory=list)
    """What the compilers said, the assembler's statistics of each kernel among it."""
    ways: list[str] = field(default_factory=list)
    """How each file was compiled, with the seconds."""

    def library(self, sources: Sequence[Source]) -> Path:
        """Compile and link.

        Raises:
            ExtensionError: a source does not compile.
        """
        with ThreadPoolExecutor() as pool:
            objects = [path for made in pool.map(self._objects, sources) for path in made]
        made = self.folder / f"{self.options.name}.so"
        self._must(
            ["g++", "-shared", *map(str, objects), *self.options.link_flags, *precompiled.libraries(), "-o", str(made)]
        )
        return made

    def _objects(self, source: Source) -> list[Path]:
        start = time.perf_counter()
        way, made = self._split(source) if source.cuda else self._host(source.name, source.text, self.options.flags)
        self.ways.append(f"{source.name}: {way}, {time.perf_counter() - start:.2f} s")
        return made

    def _host(self, name: str, text: str, flags: list[str], quick_only: bool = False) -> tuple[str, list[Path]]:
        """An object of C++, with the precompiled header, or with torch's own where that lacks something."""
        path, made = self._write(name, text), self.folder / f"{name}.o"
        variant = precompiled.variant_for(flags)
        own = [*self._defines(), *flags, *(f"-I{i}" for i in self.options.include)]
        header = ["-include", str(self.headers / variant.name / precompiled.HEADER), f"-I{self.headers / 'stand-ins'}"]
        tail = ["-c", str(path), "-o", str(made)]
        log = self._run([*precompiled.host_compiler(), variant.level, *header, *own, *tail])
        if log is None:
            return "precompiled header", [made]
        if quick_only or not _MISSING.search(log):
            raise ExtensionError(log)
        self._must([*precompiled.host_compiler(), *own, *tail])
        return "torch's headers", [made]

    def _split(self, source: Source) -> tuple[str, list[Path]]:
        flags = self.options.cuda_flags
        try:
            if any(_WHOLE_FLAGS.match(flag) for flag in flags):
                raise UnclearError("its flags are nvcc's own")
            parts = split(source.text)
            return "split", self._parts(source, parts)
        except UnclearError as unclear:
            return f"whole ({unclear})", [self._whole(source)]

    def _parts(self, source: Source, parts: Split) -> list[Path]:
        """Both halves of a split source, side by side unless the instances of templates must be known first.

        Raises:
            UnclearError: something is missing that the whole may have.
            ExtensionError: the source is wrong.
        """
        with ThreadPoolExecutor() as pool:
            host = pool.submit(self._half, source, parts)
            early = None if parts.templates else pool.submit(self._device, source, parts, ())
            stub_object = host.result()
            kernels = self._stubs(stub_object, parts)
            known = early.result() if early else self._device(source, parts, kernels)
        if lacking := [kernel.signature for kernel in kernels if kernel.symbol not in known]:
            raise UnclearError(f"device code lacks {lacking[0]}")
        if not kernels:
            return [stub_object]
        text = registration(kernels, str(self.folder / f"{source.name}.fatbin"))
        path, made = self._write(f"{source.name}.register.c", text), self.folder / f"{source.name}.register.o"
        self._must(["gcc", "-fPIC", "-w", "-c", str(path), "-o", str(made)])
        return [stub_object, made]

    def _half(self, source: Source, parts: Split) -> Path:
        kept = [flag for flag in self.options.cuda_flags if re.match(r"-[DUIO]", flag)]
        text = f'{PRELUDE}#line 1 "{source.name}"\n{parts.host}'
        try:
            return self._host(f"{source.name}.cpp", text, kept, quick_only=True)[1][0]
        except ExtensionError as error:
            raise UnclearError(f"its host half does not compile: {_first_error(str(error))}") from None

    def _device(self, source: Source, parts: Split, kernels: Sequence[Kernel]) -> set[str]:
        """Compile device code; returns the kernels that it has."""
        text = with_numbers(parts.device, instances(kernels))
        path = self._write(f"device_{source.name}", text)
        target = self.folder / f"{source.name}.fatbin"
        include = [f"-I{i}" for i in self.options.include]
        command = [
            *self._nvcc(),
            "-Xptxas=-v",
            "-fatbin",
            *include,
            *precompiled.includes(),
            str(path),
            "-o",
            str(target),
        ]
        log = self._run(command)
        if log is not None:
            raise _blame(log, parts)
        return set(re.findall(r"Compiling entry function '([^']+)'", self.log[-1]))

    def _stubs(self, made: Path, parts: Split) -> list[Kernel]:
        plain = subprocess.run(["nm", "-p", "--defined-only", made], capture_output=True, text=True, check=True)
        written = subprocess.run(["nm", "-pC", "--defined-only", made], capture_output=True, text=True, check=True)
        return stubs(plain.stdout, written.stdout, parts.kernels)

    def _whole(self, source: Source) -> Path:
        """By nvcc, with the thin header in place of torch's own, or else with those."""
        path, made = self._write(source.name, source.text), self.folder / f"{source.name}.o"
        own = [f"-I{i}" for i in self.options.include]
        thin = [
            "-include",
            str(self.headers / precompiled.PLAIN.name / precompiled.HEADER),
            f"-I{self.headers / 'stand-ins'}",
        ]
        tail = [*precompiled.includes(), "-Xptxas=-v", "-Xcompiler=-fPIC,-w", "-c", str(path), "-o", str(made)]
        log = self._run([*self._nvcc(), *self._defines(), *thin, *own, *tail])
        if log is not None and _MISSING.search(log):
            log = self._run([*self._nvcc(), *self._defines(), *own, *tail])
        if log is not None:
            raise ExtensionError(log)
        return made

    def _nvcc(self) -> list[str]:
        number = self.arch.removeprefix("sm_")
        standard = [] if any("-std" in flag for flag in self.options.cuda_flags) else [precompiled.standard()]
        named = [] if any("-gencode" in f or "-arch" in f for f in self.options.cuda_flags) else [
            f"-gencode=arch=compute_{number},code=sm_{number}"
        ]  # fmt: skip
        return [toolkit.nvcc(), *named, *standard, *cpp_extension.COMMON_NVCC_FLAGS, *self.options.cuda_flags]

    def _defines(self) -> list[str]:
        return [f"-DTORCH_EXTENSION_NAME={self.options.name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def _run(self, command: list[str]) -> str | None:
        """None where it worked, else what it said."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, errors="replace", check=False)
        said = done.stdout + done.stderr
        self.log.append(said)
        return None if done.returncode == 0 else said or f"{command[0]} exited with status {done.returncode}"

    def _must(self, command: list[str]) -> None:
        log = self._run(command)
        if log is not None:
            raise ExtensionError(log)


def _blame(log: str, parts: Split) -> Exception:
    """Whether the source is wrong, or its device half misses what only the whole has."""
    lost = set(re.findall(r"\w+", masked(parts.host)))
    names = re.findall(r'identifier "(\w+)" is undefined|"(\w+)" is not a|name "?(\w+)"? must be', log)
    missing = {name for found in names for name in found if name}
    untrusted = re.search(r"\b(?:at|c10|torch)::|\b(?:AT|C10|TORCH)_|No such file|name followed by", log)
    if untrusted or missing & (lost - set(re.findall(r"\w+", masked(parts.device)))):
        return UnclearError(f"its device half does not compile: {_first_error(log)}")
    return ExtensionError(log.replace("device_", ""))


def _first_error(log: str) -> str:
    return next((line.strip()[:200] for line in log.splitlines() if "error" in line), log[:200])
