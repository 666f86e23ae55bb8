"""A process that forks runs, and kills each when its life is over: what both tests of `kill -9` share.

A script of runs imports once and calls `serve`, which forks for each line on stdin, and prints the child's pid, and its exit
status once it ended.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path


class Zygote:
    """The process that forks the runs; `script` says what a run is."""

    def __init__(self, script: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},  # where the mock LLM server is
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def live(self, *words: object, life_s: float | None) -> bool:
        """Let the run work until it ends or its life is over; True when it ended by itself."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if life_s is not None:
            time.sleep(life_s)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = int(self.process.stdout.readline())
        assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, f"the run failed with status {status}"
        return status == 0


@contextlib.contextmanager
def born(script: Path) -> Iterator[Zygote]:
    """A zygote that ends by itself when its stdin does."""
    made = Zygote(script)
    yield made
    made.process.stdin.close()
    assert made.process.wait(10) == 0
    made.process.stdout.close()


def serve(live: Callable[..., None]) -> None:
    """Fork for each line on stdin until it ends; the words of the line are what the child does."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            live(*line.split())
            os._exit(0)
        for number in (pid, None):
            sys.stdout.write(f"{os.waitpid(pid, 0)[1] if number is None else number}\n")
            sys.stdout.flush()
