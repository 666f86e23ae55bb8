"""Calls that are captured into CUDA graphs: each by itself, a baseline's, or all of a question as one, a candidate's.

Runs inside children. A process captures on one stream and into one pool, graph after graph. The allocator keeps what it has
allocated for a stream, or in a pool whose graphs are gone, until its cache is emptied: with a stream for each graph and a pool
for each sample, those of one final of a pooling that writes 2 GB came to 120 GB, which nobody used.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

import torch

from kernelwright.evaluate.entrypoints.device_clock import Enqueue

Capture = tuple[torch.cuda.CUDAGraph, list[object]]
"""A graph, and what its calls give: a replay computes it again."""


class Captures:
    """The stream and the pool of a process's graphs."""

    def __init__(self) -> None:
        self._stream, self._pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
        # A pool's handle is of no use any more once its last graph is gone.
        self._keeper, _ = self.make(lambda: torch.zeros(1, device="cuda"), [()])

    def close(self) -> None:
        """After a capture that failed: PyTorch 2.11's allocator goes on as if its pool were captured into.

        It would never free what it keeps, and capture nothing more into this pool.
        """
        with suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), self._pool)

    def make(self, function: Callable[..., object], calls: Sequence[Sequence[object]]) -> Capture:
        """One graph of these calls.

        Raises:
            RuntimeError: the function does what cannot be captured, such as waiting for the device.
        """
        # torch.cuda.graph would collect garbage and empty the cache around each: tens of milliseconds.
        graph = torch.cuda.CUDAGraph()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            function(*calls[0])  # libraries make their workspaces for this stream outside the capture
            torch.cuda.synchronize()
            graph.capture_begin(pool=self._pool)
            try:
                results = [function(*arguments) for arguments in calls]
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(self._stream)
        return graph, results


@cache
def _captures() -> Captures:
    return Captures()


def let_go() -> None:
    """Have what graphs took freed with the allocator's cache, once the last of them is gone."""
    _captures.cache_clear()


def _made(function: Callable[..., object], calls: Sequence[Sequence[object]]) -> Capture:
    captures = _captures()
    try:
        return captures.make(function, calls)
    except RuntimeError:
        captures.close()
        let_go()
        raise


def captured(function: Callable[..., object], calls: Sequence[Sequence[object]]) -> Enqueue:
    """Replays of a CUDA graph of each call; a replay gives that call's results, which its next replay overwrites.

    They are to be replayed in the order of the calls: an earlier one works where a later one's results may lie.

    A program with a graph has static inputs. Here every call has others, so that either a copy into the static ones would
    be charged, which doubles the time of whatever is bound by memory, or the graph is captured anew for each call: outside
    the clock, and replayed once before it is timed, so that no upload is charged either. That is the most that a graph
    can gain, which is the harder baseline to beat.

    Raises:
        RuntimeError: the function does what cannot be captured, such as waiting for the device.
    """
    pairs = [_made(function, [arguments]) for arguments in calls]
    for graph, _ in pairs:
        graph.replay()
    torch.cuda.synchronize()

    def replay(index: int) -> object:
        graph, (results,) = pairs[index]
        graph.replay()
        return results

    return replay


class OneGraph:
    """All calls of a question as one graph: replaying it leaves no time on the host between them."""

    def __init__(self, function: Callable[..., object], calls: Sequence[Sequence[object]]) -> None:
        self._graph, self.results = _made(function, calls)
        self.run()

    def run(self) -> int:
        """Compute what lies at the calls' places now; nanoseconds that it took with the host."""
        begin = time.perf_counter_ns()
        self._graph.replay()
        torch.cuda.synchronize()
        return time.perf_counter_ns() - begin
