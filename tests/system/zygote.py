"""A process that forks runs, and kills each when its life is over: what both tests of `kill -9` share."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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
