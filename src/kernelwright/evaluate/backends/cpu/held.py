"""Whether a module holds the parameters that it was given, after it says so: copying them costs time that eager spends too.

A few elements of each tensor, drawn after the process has been stopped, are read from its memory and compared with what lies
in the arena. Where its tensors lie is the process's own word; that what lies there is right is not, nor that the pages are
its own: the arena, which is mapped there too, is somebody else's.
"""

import secrets
from collections.abc import Callable, Sequence

import torch
from pydantic import ValidationError

from kernelwright.evaluate.backends.cpu.process import must_be_own
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.candidate_process import TamperedError
from kernelwright.evaluate.sandbox.messages.calls import Found, Held
from kernelwright.records.tensor import ITEM_BYTES

TENSORS, ELEMENTS, ONE_IN = 8, 4, 4
"""Most tensors that are looked at, and elements of each; and how often that is, by lot: while it takes, what was copied cools
down, and a sample is the fastest of several rounds."""


class HeldParameters:
    """Of one process; `tell` asks it where they lie, `view` is a tensor's window in the grader's arena."""

    def __init__(
        self, pid: int, tell: Callable[[], Sequence[Held | None]], view: Callable[[int, int], torch.Tensor]
    ) -> None:
        self._pid, self._tell, self._view = pid, tell, view
        self._held: Sequence[Held | None] | None = None

    def check(self, first: int, offsets: Sequence[int]) -> None:
        """Look at some of what was given; `first` is the place of the first parameter among all tensors.

        A module may have moved its tensors since it told where they are: it is asked once more.

        Raises:
            TamperedError: it holds something else.
        """
        if self._held is not None and (secrets.randbelow(ONE_IN) or self._agree(first, offsets)):
            return
        self._held = self._tell()
        if len(self._held) != len(offsets) or not self._agree(first, offsets):
            raise TamperedError("it does not hold the parameters that it was given")

    def _agree(self, first: int, offsets: Sequence[int]) -> bool:
        assert self._held is not None
        # Of tied ones the last is copied last, to the same place.
        known = {held.address: (held, i) for i, held in enumerate(self._held) if held is not None}
        some = secrets.SystemRandom().sample(list(known.values()), min(TENSORS, len(known)))
        return all(self._holds(held, self._view(first + i, offsets[i])) for held, i in some)

    def _holds(self, held: Held, wanted: torch.Tensor) -> bool:
        if not wanted.numel():
            return True
        if len(held.strides) != wanted.dim() or held.dtype not in ITEM_BYTES:
            return False
        at = [secrets.randbelow(wanted.numel()) for _ in range(ELEMENTS)]
        got = self._read(held, [_place(number, wanted.shape, held.strides) for number in at])
        right = wanted.reshape(-1)[torch.tensor(at)].to(got.dtype)
        # By their bits: not all dtypes can be compared.
        return bool(torch.equal(got.view(torch.uint8), right.view(torch.uint8)))

    def _read(self, held: Held, places: Sequence[int]) -> torch.Tensor:
        """These elements, counted from the first, each from a page of the process's own."""
        size = next(size for dtype, size in ITEM_BYTES.items() if dtype == held.dtype)
        try:
            items = [Found(address=held.address + place * size, dtype=held.dtype, shape=(1,)) for place in places]
        except ValidationError:
            raise TamperedError("its parameters lie where no memory is") from None
        must_be_own(self._pid, [items], "parameters")
        got = torch.empty(len(items), dtype=getattr(torch, held.dtype))
        try:
            kernel.read_process(self._pid, [(f.address, f.nbytes) for f in items], got.data_ptr())
        except OSError as error:
            raise TamperedError(f"its parameters do not lie where it says: {error}") from None
        return got


def _place(number: int, shape: Sequence[int], strides: Sequence[int]) -> int:
    """Where an element lies, counted in elements from the first; `number` counts them row by row."""
    place = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        number, index = divmod(number, size)
        place += index * stride
    return place
