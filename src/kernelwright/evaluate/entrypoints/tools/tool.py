"""A compiler in its own confined process: write the files, run the command, hand back what it made."""

import ctypes
import socket
import subprocess
from pathlib import Path

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox.messages.tools import Execute, Executed, Made


class ToolSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self) -> None:
        self._made = ctypes.create_string_buffer(0)

    def execute(self, command: Execute) -> Executed:
        """Run `argv` beside the texts; the result file's bytes stay in memory."""
        for name, text in command.texts.items():
            Path(name).write_text(text)
        done = subprocess.run(command.argv, capture_output=True, text=True, errors="replace", check=False)
        result, made = Path(command.result), None
        if done.returncode == 0 and result.is_file():
            data = result.read_bytes()
            self._made = ctypes.create_string_buffer(data, len(data))
            made = Made(address=ctypes.addressof(self._made), nbytes=len(data))
        return Executed(status=done.returncode, log=(done.stdout + done.stderr)[-20000:], made=made)


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    session.serve(control, {Execute: ToolSide().execute})
