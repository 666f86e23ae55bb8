"""NVRTC in its own confined process: CUDA C++ text into a device binary. It starts no program and needs no driver.

Decides nothing: options, names and folders come from the grader. What it hands back is foreign: the text that it compiled
may have taken this process over.
"""

import ctypes
import socket
import struct
from pathlib import Path

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.sides.device_headers import device_headers
from kernelwright.evaluate.sides.kernel_parameters import kernel_parameters

LOG = 20000


class NvrtcSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self, denied: list[str]) -> None:
        self._denied = denied
        self._made = ctypes.create_string_buffer(0)

    def compile(self, message: Message) -> Message:
        """Compile `source` with `options`, asking for the kernels `names`; the binary stays in memory at `address`."""
        try:
            program = Compilation(message["library"])
        except (ImportError, OSError, RuntimeError) as error:
            return {"missing": str(error)}
        headers = device_headers(message["include"])
        answer = program.run(str(message["source"]), headers, message["names"], message["options"])
        binary = program.binary
        if binary:
            self._made = ctypes.create_string_buffer(binary, len(binary))
            answer |= {"address": ctypes.addressof(self._made), "bytes": len(binary), "parameters": _parameters(binary)}
        return answer | {"version": program.version, "denied": self._denied}


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

    def run(self, source: str, headers: dict[str, str], names: list[str], options: list[str]) -> Message:
        """The log, and each name as it is in the binary."""
        nvrtc = self._nvrtc
        texts, titles = [t.encode() for t in headers.values()], [n.encode() for n in headers]
        _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", len(texts), texts, titles)
        for name in names:
            nvrtc.nvrtcAddNameExpression(program, name.encode())
        given = [o.encode() for o in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
        log = self._read(program, "ProgramLog").rstrip(b"\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            return {"log": log.decode(errors="replace")[:LOG] or str(status), "names": []}
        lowered = [nvrtc.nvrtcGetLoweredName(program, name.encode())[1].decode() for name in names]
        self.binary = self._read(program, "CUBIN")
        return {"log": log.decode(errors="replace")[-LOG:], "names": lowered}

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


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `compile`."""
    session.serve(control, {"compile": NvrtcSide(denied).compile})
