"""A compiler in its own confined process: write the files, run the command, hand back what it made."""

import ctypes
import socket
import subprocess
from pathlib import Path

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session


class ToolSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self, denied: list[str]) -> None:
        self._denied = denied
        self._made = ctypes.create_string_buffer(0)

    def execute(self, message: Message) -> Message:
        """Run `argv` beside `files`; the result file's bytes stay in memory at `address`."""
        for name, text in message["files"].items():
            Path(name).write_text(text)
        done = subprocess.run(message["argv"], capture_output=True, text=True, errors="replace", check=False)
        answer: Message = {
            "status": done.returncode,
            "log": (done.stdout + done.stderr)[-20000:],
            "denied": self._denied,
        }
        made = Path(message["result"])
        if done.returncode == 0 and made.exists():
            data = made.read_bytes()
            self._made = ctypes.create_string_buffer(data, len(data))
            answer |= {"address": ctypes.addressof(self._made), "bytes": len(data)}
        return answer


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `execute`."""
    session.serve(control, {"execute": ToolSide(denied).execute})
