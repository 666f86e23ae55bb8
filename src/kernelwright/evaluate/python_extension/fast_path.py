"""`load_inline` and `load` of torch replaced in this process by builds of our own, which say how they went.

Calls for C++ and CUDA are taken over. They return what torch's own would return.
"""

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from torch.utils import cpp_extension

from kernelwright.evaluate.python_extension.build import Build, ExtensionError, Options, Source

Texts = str | Sequence[str] | None
Loaded = object

IMPLICIT = "#include <torch/extension.h>\n"
IMPLICIT_CUDA = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


class FastPath:
    """The replacement, for one architecture.

    Args:
        headers: the folder from `precompiled.precompile`.
        arch: what nvcc compiles for, such as `sm_90a`.
        only_compile: nothing is loaded: a module that does nothing stands for it.
    """

    def __init__(self, headers: Path, arch: str, only_compile: bool = False) -> None:
        self._headers, self._arch, self._only_compile = headers, arch, only_compile
        self._numbers = itertools.count()
        self.builds: list[Build] = []

    def install(self) -> None:
        """Replace torch's own functions, before the candidate is imported."""
        cpp_extension.load_inline = self.load_inline
        cpp_extension.load = self.load

    def load_inline(  # noqa: PLR0913 (torch's signature)
        self,
        name: str,
        cpp_sources: Texts,
        cuda_sources: Texts = None,
        functions: str | list[str] | dict[str, str] | None = None,
        extra_cflags: list[str] | None = None,
        extra_cuda_cflags: list[str] | None = None,
        extra_ldflags: list[str] | None = None,
        extra_include_paths: list[str] | None = None,
        with_pytorch_error_handling: bool = True,
        is_python_module: bool = True,
        **others: object,
    ) -> Loaded:
        """As `torch.utils.cpp_extension.load_inline`.

        Raises:
            ExtensionError: it does not build.
        """
        if others.get("sycl_sources"):
            raise ExtensionError("SYCL sources are not compiled here")
        main = [IMPLICIT, *_texts(cpp_sources), _bindings(functions, with_pytorch_error_handling)]
        sources = [Source("main.cpp", "\n".join(main))]
        if cuda := _texts(cuda_sources):
            sources.append(Source("cuda.cu", "\n".join([IMPLICIT_CUDA, *cuda])))
        options = _options(name, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths)
        return self._load(options, sources, is_python_module)

    def load(  # noqa: PLR0913 (torch's signature)
        self,
        name: str,
        sources: str | Sequence[str],
        extra_cflags: list[str] | None = None,
        extra_cuda_cflags: list[str] | None = None,
        extra_ldflags: list[str] | None = None,
        extra_include_paths: list[str] | None = None,
        is_python_module: bool = True,
        **_others: object,
    ) -> Loaded:
        """As `torch.utils.cpp_extension.load`.

        Raises:
            ExtensionError: it does not build.
        """
        paths = [Path(s) for s in ([sources] if isinstance(sources, str) else sources)]
        read = [Source(f"{i}_{p.name}", p.read_text(encoding="utf-8")) for i, p in enumerate(paths)]
        around = list(dict.fromkeys(str(p.resolve().parent) for p in paths))
        options = _options(
            name, extra_cflags, extra_cuda_cflags, extra_ldflags, [*(extra_include_paths or []), *around]
        )
        return self._load(options, read, is_python_module)

    def _load(self, options: Options, sources: Sequence[Source], python: bool) -> Loaded:
        folder = Path(tempfile.mkdtemp(prefix="extension-"))
        build = Build(folder, options, self._headers, self._arch)
        self.builds.append(build)
        try:
            library = build.library(sources)
        except ExtensionError as error:
            raise ExtensionError(f"Error building extension {options.name!r}: {error}") from None
        if self._only_compile:
            return _Nothing()
        imported = cast("Callable[[str, str, bool], Loaded]", cpp_extension._import_module_from_library)
        return imported(options.name, str(library.parent), python)


class _Nothing:
    """Stands for a module that was compiled and is not called."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"{name}: the extension was compiled for a device that is not here")


def _texts(given: Texts) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _options(
    name: str,
    flags: list[str] | None,
    cuda_flags: list[str] | None,
    link_flags: list[str] | None,
    include: list[str] | None,
) -> Options:
    kept = ([flag for flag in given or [] if flag.strip()] for given in (flags, cuda_flags, link_flags, include))
    return Options(name, *kept)


def _bindings(functions: str | list[str] | dict[str, str] | None, handled: bool) -> str:
    if functions is None:
        return ""
    named = [functions] if isinstance(functions, str) else functions
    pairs = named.items() if isinstance(named, dict) else ((name, name) for name in named)
    lines = [
        f'm.def("{name}", {f"torch::wrap_pybind_function({name})" if handled else name}, "{text}");'
        for name, text in pairs
    ]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])
