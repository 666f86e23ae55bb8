"""Poison where a module's results come to lie: over the last ones, and in memory that the next ones may get.

It is written by the module's own process, with functions that were taken before there was a candidate. Over the last results
only on a GPU: on a CPU the grader does that from outside (`backends/cpu/module.py`), and device memory of another process is
out of its reach.
"""

from collections.abc import Callable, Iterable, Sequence

import torch

from kernelwright.evaluate.triton.binding import own_tensors
from kernelwright.records.tensor import TensorSpec

FILL, FULL, INFERENCE, PLAINLY = torch.Tensor.fill_, torch.full, torch.inference_mode, torch._C.DisableTorchFunction
"""As they were before there was a candidate."""
POISON_BYTE = 0xFF


def over(results: Iterable[torch.Tensor], spared: Callable[[torch.Tensor], bool]) -> None:
    """Overwrite results that have been handed out, so that one which is handed out again must be written again.

    `spared` says which are not the module's own to give: an input's window, for instance, which nobody can write to.
    """
    # In inference mode, since what was made in it can be written to in no other.
    with INFERENCE(), PLAINLY():
        for tensor in results:
            if tensor.numel() and not spared(tensor):
                FILL(_each_once(tensor), _wrong(tensor.dtype))


def ahead(outputs: Sequence[TensorSpec], calls: int, device: str) -> None:
    """Fill memory of so many results' sizes and give it back: the next `empty` gets it."""
    sizes = [max(s.nbytes, 1) for _ in range(calls) for s in outputs]
    held = [FULL((size,), POISON_BYTE, dtype=torch.uint8, device=device) for size in sizes]
    del held


def _each_once(tensor: torch.Tensor) -> torch.Tensor:
    """The part of an expanded tensor that has memory of its own."""
    return tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]


def _wrong(dtype: torch.dtype) -> float | int | bool:
    """A value that no result is expected to have everywhere."""
    if dtype == torch.bool:
        return True
    return float("nan") if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).max


class OwnResults:
    """Which results are tensors that a module keeps: they are handed out as copies, since what is handed out is overwritten.

    Looking walks over all modules, so it is done where no time is taken. Such a question hands out copies of whatever is kept
    after its first call, even of what that call has made. Later ones do so only for what was there before that call, too: a
    last result that a module keeps is another tensor after each call, and copies would be made within calls that are timed.
    """

    def __init__(self) -> None:
        self._before: frozenset[int] = frozenset()
        self._kept: frozenset[int] | None = None

    def look(self, model: torch.nn.Module) -> None:
        """Look anew, from the next call on."""
        self._before, self._kept = _places(model), None

    def called(self, model: torch.nn.Module) -> None:
        """A call is over."""
        if self._kept is None:
            self._kept = _places(model)

    def asked(self) -> None:
        """A question is over."""
        self._kept = (self._kept or frozenset()) & self._before

    def holds(self, result: torch.Tensor) -> bool:
        """Whether the module keeps the memory that it lies in."""
        return self._kept is not None and result.untyped_storage().data_ptr() in self._kept


def _places(model: torch.nn.Module) -> frozenset[int]:
    """Where the memory of a model's own tensors begins."""
    tensors = (one.tensor for one in own_tensors(model))
    return frozenset(t.untyped_storage().data_ptr() for t in tensors if t.layout == torch.strided)
