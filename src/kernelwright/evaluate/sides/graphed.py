"""A CUDA graph of eager for the inputs of each call: the baseline `graph`. Runs in the reference's process.

A program with a graph has static inputs. Here every call has others, so that either a copy into the static ones would be
charged, which doubles the time of whatever is bound by memory, or the graph is captured anew for each call. It is captured
outside the clock, and replayed once before it is timed, so that no upload is charged either: the most that a graph
can gain, which is the harder baseline to beat.
"""

from collections.abc import Callable, Sequence

import torch

from kernelwright.evaluate.sides.device_clock import Enqueue


def captured(function: Callable[..., object], calls: Sequence[Sequence[object]]) -> Enqueue:
    """Replays of the graph of each call; a replay gives that call's results, which are overwritten by its next replay.

    Raises:
        RuntimeError: the function does what cannot be captured, such as waiting for the device.
    """
    pool = torch.cuda.graph_pool_handle()
    pairs = [_capture(function, arguments, pool) for arguments in calls]
    for graph, _ in pairs:
        graph.replay()
    torch.cuda.synchronize()

    def replay(index: int) -> object:
        graph, results = pairs[index]
        graph.replay()
        return results

    return replay


def _capture(
    function: Callable[..., object], arguments: Sequence[object], pool: object
) -> tuple[torch.cuda.CUDAGraph, object]:
    # torch.cuda.graph would collect garbage and empty the cache around each: tens of milliseconds.
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function(*arguments)  # libraries make their workspaces for this stream outside the capture
        torch.cuda.synchronize()
        graph.capture_begin(pool=pool)
        try:
            results = function(*arguments)
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph, results
