"""A worker that does what its job says: echo, notes, sleep, die. Started by the tests as a script."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from kernelwright.execution import job
from kernelwright.execution.channel import HEADER, Channel
from kernelwright.execution.job import JobServer

JOBS, MOST, AT = [], [], []
"""Jobs so far; for each of them, how many there were at the same time; those at hand."""


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    JobServer(Channel(end), lambda payload: answer(end, payload)).serve()
    os._exit(0)


def answer(end, payload):
    JOBS.append(payload)
    AT.append(payload)
    MOST.append(len(AT))
    try:
        word, _, rest = payload.decode().partition(" ")
        DOES[word](end, rest)
        told = {"pid": os.getpid(), "jobs": len(JOBS), "most": max(MOST), "variable": os.environ.get("CHOSEN", "")}
        told |= {"parent": os.getppid(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}
        return str(told.get(rest, rest)).encode()
    finally:
        AT.remove(payload)


def notes(end, count):
    for n in range(int(count)):
        job.note(f"note {n} é")


def children(end, _):
    job.note(str(subprocess.Popen(["sleep", "1000"]).pid))
    time.sleep(1000)


class Kept:
    """A process of a job, as the sandbox has them."""

    def __init__(self):
        self.ended = False
        self.process = subprocess.Popen(["sleep", "1000"])

    def kill(self):
        self.process.kill()


def child(end, _):
    kept = Kept()
    job.started(kept)
    job.note(str(kept.process.pid))
    kept.process.wait()


def cut(end, _):
    end.sendall(HEADER.pack(b"R", 1, 100) + b"half")
    os._exit(0)


def late(end, seconds):
    """Dies a while after it was begun."""
    time.sleep(float(seconds))
    os.kill(os.getpid(), signal.SIGKILL)


def once(end, path):
    """Dies the first time that it is done, and only then."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    late(end, "0.1")


def orphan(end, seconds):
    """Kills whoever started this worker, a while after it was begun."""
    time.sleep(float(seconds))
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


def done(end, path):
    """Leaves a line each time that it was done."""
    time.sleep(0.2)
    with Path(path).open("a") as file:
        file.write("done\n")


def fault(end, _):
    threading.excepthook = lambda told: None
    raise ZeroDivisionError


DOES = {
    "echo": lambda end, rest: None,
    "notes": notes,
    "sleep": lambda end, seconds: time.sleep(float(seconds)),
    "children": children,
    "child": child,
    "exit": lambda end, status: os._exit(int(status)),
    "die": lambda end, rest: os.kill(os.getpid(), signal.SIGKILL),
    "late": late,
    "once": once,
    "orphan": orphan,
    "done": done,
    "cut": cut,
    "fault": fault,
}

if __name__ == "__main__":
    main()
