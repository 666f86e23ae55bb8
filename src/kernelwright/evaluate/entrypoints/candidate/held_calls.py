"""Calls that are all queued before any begins: the stream waits at a gate until this process's host opens it.

Host code that cannot be captured into a graph, such as a launch on the legacy stream, hides behind the gate. Between the
queueing and the opening the grader writes the calls' inputs, so that whatever begins sooner computes from others. Runs inside
children.

CUDA loads a kernel when it is first launched, and may wait for the whole device meanwhile: behind a closed gate, for ever. So
whoever holds calls has made them before, and what `aside` launches is launched once before the gate closes.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.cuda_arena import check

T = TypeVar("T")


class HeldCalls(Generic[T]):
    """The calls of one question; their `results` are computed when they are released."""

    def __init__(self, calling: Callable[[int], T], calls: int) -> None:
        """Queue them.

        Raises:
            MachineError: this device's streams cannot wait for a value in memory.
            Exception: a call raised; nothing is held any more.
        """
        aside()
        flag = torch.zeros(1, dtype=torch.int32, pin_memory=True)
        self._flag, self._open = flag, flag.numpy()
        stream = torch.cuda.current_stream().cuda_stream
        equal = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
        check(driver.cuStreamWaitValue32(stream, flag.data_ptr(), 1, equal))
        try:
            self.results: Sequence[T] = [calling(i) for i in range(calls)]
        except BaseException:
            self._open[0] = 1
            raise

    def run(self) -> None:
        """Compute what lies at the calls' places now."""
        self._open[0] = 1
        torch.cuda.synchronize()


def aside() -> None:
    """A kernel that does nothing, on a stream of its own: no gate keeps it."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(0)
    stream.synchronize()
