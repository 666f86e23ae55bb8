"""Load: keeps the machine busy while a kernel is run again, so that threads and blocks meet in another order.

Decides nothing of what is right. On the CPU, threads of the grader hash without holding the interpreter's lock; on a GPU,
another stream of another process multiplies matrices.
"""

import hashlib
import threading
from collections.abc import Callable
from types import TracebackType

import torch

BLOCK = bytes(1 << 20)
WIDTH = 2048


class Load:
    """Use as a context manager; `workers` threads, of which one feeds the device where there is one."""

    def __init__(self, device: str, workers: int) -> None:
        self._over = threading.Event()
        jobs: list[Callable[[], None]] = [_multiply if device == "cuda" else _hash]
        jobs += [_hash] * (workers - 1)
        self._threads = [threading.Thread(target=self._repeat, args=(job,), daemon=True) for job in jobs]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, job: Callable[[], None]) -> None:
        while not self._over.is_set():
            job()


def _hash() -> None:
    hashlib.sha256(BLOCK).digest()


def _multiply() -> None:
    """Some milliseconds of a device, on a stream of this thread's own."""
    with torch.cuda.stream(torch.cuda.Stream()):
        matrix = torch.ones(WIDTH, WIDTH, device="cuda")
        for _ in range(8):
            matrix = matrix @ matrix
            matrix.clamp_(-1, 1)
        torch.cuda.current_stream().synchronize()
