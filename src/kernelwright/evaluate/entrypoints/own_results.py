"""Which results are tensors that a module keeps. They are handed out as copies, since what is handed out is overwritten.

Looking is a walk over all modules, so it is done where no time is taken. Such a question hands out copies of whatever is kept
after its first call, even of what that call has made. Later ones do so only for what was there before that call, too: a
last result that a module keeps is another tensor after each call, and copies of it would be made within calls that are timed.
"""

import torch

from kernelwright.evaluate.triton.binding import own_tensors


class OwnResults:
    """What one module keeps, as far as is known."""

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
