"""A worker that does what its job says: echo, notes, sleep, die. Started by the tests as a script."""

import os
import signal
import socket
import subprocess
import sys
import time

from kernelwright.execution import channel


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    jobs = 0
    while (frame := channel.read(end)) is not None:
        jobs += 1
        word, _, rest = frame[1].decode().partition(" ")
        DOES[word](end, rest)
        answer = {"pid": str(os.getpid()), "jobs": str(jobs), "variable": os.environ.get("CHOSEN", "")}
        channel.write(end, b"R", answer.get(rest, rest).encode())


def notes(end, count):
    for n in range(int(count)):
        channel.write(end, b"N", f"note {n} é".encode())


def children(end, _):
    channel.write(end, b"N", str(subprocess.Popen(["sleep", "1000"]).pid).encode())
    time.sleep(1000)


def cut(end, _):
    end.sendall(channel.HEADER.pack(b"R", 100) + b"half")
    os._exit(0)


DOES = {
    "echo": lambda end, rest: None,
    "notes": notes,
    "sleep": lambda end, seconds: time.sleep(float(seconds)),
    "children": children,
    "exit": lambda end, status: os._exit(int(status)),
    "die": lambda end, rest: os.kill(os.getpid(), signal.SIGKILL),
    "cut": cut,
}

if __name__ == "__main__":
    main()
