"""NVRTC in its own confined process: CUDA C++ text into a device binary. It starts no program and needs no driver.

Options, names and folders come from the grader. What it hands back is untrusted: the text that it compiled may have
taken this process over.
"""

import ctypes
import socket
import struct
from pathlib import Path

from kernelwright.evaluate.sandbox.messages.tools import CompileCuda, CudaCompiled, Kernels, Made
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.device_headers import device_headers
from kernelwright.evaluate.sides.kernel_parameters import kernel_parameters

LOG = 20000


class NvrtcSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self) -> None:
        self._made = ctypes.create_string_buffer(0)

    def compile(self, command: CompileCuda) -> CudaCompiled:
        """Compile, asking for the kernels by name; the binary stays in memory."""
        try:
            program = Compilation(command.library)
        except (ImportError, OSError, RuntimeError) as error:
            return CudaCompiled(missing=str(error) or type(error).__name__)
        log, names = program.run(command, device_headers(command.include))
        kernels = self._kept(program.binary, names) if program.binary else None
        return CudaCompiled(version=program.version, log=log, kernels=kernels)

    def _kept(self, binary: bytes, names: list[str]) -> Kernels:
        self._made = ctypes.create_string_buffer(binary, len(binary))
        made = Made(address=ctypes.addressof(self._made), nbytes=len(binary))
        return Kernels(made=made, names=names, parameters=_parameters(binary))


class Compilation:
    """One use of NVRTC.

    Raises:
        ImportError, OSError, RuntimeError: it is not on this machine.
    """

    def __init__(self, library: str | None) -> None:
        from cuda.bindings import nvrtc  # noqa: PLC0415 (absent on machines without a GPU; told as such)

        try:
            _, major, minor = nvrtc.nvrtcVersion()
        except (OSError, RuntimeError):
            if library is None or not Path(library).exists():
                raise
            ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
            _, major, minor = nvrtc.nvrtcVersion()
        self._nvrtc = nvrtc
        self.version = f"{major}.{minor}"
        self.binary = b""

    def run(self, command: CompileCuda, headers: dict[str, str]) -> tuple[str, list[str]]:
        """The log, and each name as it is in the binary."""
        nvrtc = self._nvrtc
        texts, titles = [t.encode() for t in headers.values()], [n.encode() for n in headers]
        _, program = nvrtc.nvrtcCreateProgram(command.source.encode(), b"kernel.cu", len(texts), texts, titles)
        for name in command.names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        given = [o.encode() for o in command.options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
        log = self._read(program, "ProgramLog").rstrip(b"\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            return log.decode(errors="replace")[:LOG] or str(status), []
        lowered = [nvrtc.nvrtcGetLoweredName(program, name.encode())[1].decode() for name in command.names]
        self.binary = self._read(program, "CUBIN")
        return log.decode(errors="replace")[-LOG:], lowered

    def _read(self, program: object, what: str) -> bytes:
        _, length = getattr(self._nvrtc, f"nvrtcGet{what}Size")(program)
        data: bytes = b"\0" * length
        getattr(self._nvrtc, f"nvrtcGet{what}")(program, data)
        return data


def _parameters(binary: bytes) -> dict[str, list[int]]:
    try:
        return kernel_parameters(binary)
    except (struct.error, IndexError, ValueError):
        return {}


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    session.serve(control, {CompileCuda: NvrtcSide().compile})
