"""Some programs of a candidate's launches at the task's full size, with no memory behind the addresses.

What only the full size shows: lanes that leave their tensors there, offsets of 32 bits that wrap, results that a grid does
not reach. Loads give values that are made up, stores go nowhere, and nothing is said about values: what a program does wrong
must be the same with other ones.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime import interpreter

from kernelwright.evaluate.triton.builder import RepairedBuilder, flags_of
from kernelwright.evaluate.triton.cross import run
from kernelwright.evaluate.triton.device import offset_bytes, without_values
from kernelwright.evaluate.triton.fault import Boundary, Fault
from kernelwright.evaluate.triton.interpret import install, pretending
from kernelwright.evaluate.triton.ledger import APART, EMPTY
from kernelwright.evaluate.triton.memory import Access
from kernelwright.evaluate.triton.model import flatten, load_entry, load_module, private_path
from kernelwright.evaluate.triton.programs import Order
from kernelwright.evaluate.triton.untyped import Array, Handle, Untyped, replaced
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload

SAMPLE = 12
"""Programs of each launch."""
SECONDS = 6.0
"""Of this process, for all launches; a launch that begins later is not looked at."""
LOOKED_AT = "at full size some programs of each launch, for bounds and for grids that are too small; not for values"
NOT_LOOKED_AT = "nothing of what only the full size shows: {}"


class _EnoughError(BaseException):
    """The time is over."""


class Look:
    """What some programs of one call did.

    Args:
        turn: which values are made up: 0 or 1.
    """

    def __init__(self, turn: int) -> None:
        self.turn, self.partial, self.numbers = turn, False, False
        """`numbers`: whole numbers were loaded, by which programs may choose what they store."""
        self.most: Counter[int] = Counter()
        """Bytes that all programs can have stored, by the start of the storage."""
        self.told: dict[int, str] = {}
        self.last: dict[int, int] = {}
        """The end of what was stored last in a storage."""
        self.apart: dict[int, int] = {}
        self.kept: list[object] = []
        self._until = time.process_time() + SECONDS
        self._bytes: Counter[int] = Counter()

    def address(self, tensor: torch.Tensor) -> int:
        """A tensor's pretended place."""
        storage = tensor.untyped_storage()
        self.kept.append(storage)
        return self.apart.setdefault(int(storage._cdata), APART * (1 + len(self.apart))) + offset_bytes(tensor)

    def launched(self, count: int, begin: Callable[[int], None], run: Callable[[int], None]) -> None:
        """Run some of a launch's programs."""
        most: Counter[int] = Counter()
        for program in sample(count):
            self._bytes = Counter()
            begin(program)
            try:
                run(program)
            except _EnoughError:
                self.partial = True
                return
            most |= self._bytes
        for start, nbytes in most.items():
            self.most[start] += nbytes * count
            self.told[start] = f"{count} programs that store at most {nbytes} bytes each"

    def stored(self, access: Access | None) -> None:
        """Note a store or an atomic."""
        if access is not None and access.span is not None:
            start = access.span.start
            self._bytes[start] += access.pointers.size * access.item_bytes
            self.last[start] = max(self.last.get(start, 0), int(access.pointers.max()) + access.item_bytes)

    def made_up(self, pointers: Handle) -> Handle:
        """What a load gives."""
        if time.process_time() > self._until:
            raise _EnoughError
        element = pointers.get_element_ty()
        dtype = interpreter._get_np_dtype(element)
        self.numbers |= not element.is_floating()
        value = (1.0, -2.0)[self.turn] if dtype.kind == "f" else self.turn
        handle: Handle = interpreter.TensorHandle(np.full(pointers.data.shape, value, dtype), element)
        return handle


class UnseenBuilder(RepairedBuilder):
    """What the interpreter calls where no memory is."""

    look = Look(0)

    def launched(self, count: int, order: Order, begin: Callable[[int], None], run: Callable[[int], None]) -> None:
        """See `RepairedBuilder.launched`: some programs of it."""
        self.look.launched(count, begin, run)

    def create_masked_load(self, ptrs: Handle, mask: Handle | Array, *_rest: object, **_named: object) -> Handle:
        """A value that is made up."""
        self.guard.reach("load", ptrs, flags_of(mask))
        return self.look.made_up(ptrs)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle | Array, *_rest: object, **_named: object
    ) -> None:
        """In bounds, and counted."""
        self.look.stored(self.guard.reach("store", ptrs, flags_of(mask)))

    def create_atomic_rmw(self, _op: Untyped, ptr: Handle, _value: Handle, mask: Handle, *_rest: object) -> Handle:
        """In bounds, and counted."""
        self.look.stored(self.guard.reach("atomic", ptr, flags_of(mask)))
        return self.look.made_up(ptr)

    def create_atomic_cas(self, ptr: Handle, *_rest: object) -> Handle:
        """In bounds, and counted."""
        self.look.stored(self.guard.reach("atomic", ptr, np.ones(ptr.data.shape, dtype=bool)))
        return self.look.made_up(ptr)


class Made(TorchDispatchMode):  # type: ignore[misc]
    """Which memory host code has taken, and left for kernels to fill."""

    def __init__(self) -> None:
        super().__init__()
        self.empty: set[int] = set()

    def __torch_dispatch__(
        self, func: Untyped, _types: object, args: tuple[Untyped, ...] = (), kwargs: dict[str, Untyped] | None = None
    ) -> object:
        """Note what is taken, and what PyTorch itself writes to."""
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in EMPTY:
            self.empty.add(int(result.untyped_storage()._cdata))
        elif func._schema.is_mutable:
            written = (a for a in (*args, *(kwargs or {}).values()) if isinstance(a, torch.Tensor))
            self.empty -= {int(a.untyped_storage()._cdata) for a in written}
        return result


def examine(candidate: Candidate, task_source: str, workload: Workload, arch: str) -> Fault | str:
    """What is wrong at full size; or what was looked at, in words.

    Args:
        candidate: a `triton` candidate with its defines chosen.
        task_source: the task's file, for its `get_init_inputs`, at full size.
        workload: at full size; no memory is taken for it.
        arch: the device that host code believes it is on.

    Raises:
        RefereeError: as `interpret`.
    """
    found, look = _looked(candidate, task_source, workload, arch, Look(0))
    if isinstance(found, Fault) and found.kind in ("out_of_bounds", "unwritten"):
        again, _ = _looked(candidate, task_source, workload, arch, Look(1))
        if isinstance(again, Fault) and again.log == found.log:
            return found.model_copy(update={"log": f"at the task's full size: {found.log}"})
        return NOT_LOOKED_AT.format("where its programs load and store depends on values")
    if isinstance(found, Fault):
        return NOT_LOOKED_AT.format(found.log.splitlines()[-1][:200])
    return NOT_LOOKED_AT.format("its programs take too long") if look.partial else LOOKED_AT


def _looked(
    candidate: Candidate, task_source: str, workload: Workload, arch: str, look: Look
) -> tuple[Fault | None, Look]:
    install()
    task, path, made = load_module(private_path("task"), task_source), private_path("kernel"), Made()
    with Boundary(path) as boundary, pretending(arch) as driver, without_values(), _looking(look):
        boundary.default = "run"
        driver.address = look.address
        entry = load_entry(path, candidate)
        with made:
            results = flatten(run(entry, task, workload))
        for number, result in enumerate(results):
            if words := _unwritten(number, result, look, made):
                return Fault(kind="unwritten", log=words), look
    return boundary.fault, look


@contextmanager
def _looking(look: Look) -> Iterator[None]:
    with replaced(interpreter.interpreter_builder, __class__=UnseenBuilder), replaced(UnseenBuilder, look=look):
        yield


def _unwritten(number: int, result: torch.Tensor, look: Look, made: Made) -> str:
    """Why not all of a result can be written; empty where it can, or nobody knows."""
    storage = result.untyped_storage()
    start, needed = look.apart.get(int(storage._cdata), 0), result.numel() * result.element_size()
    most = look.most.get(start, 0)
    if int(storage._cdata) not in made.empty or look.partial or look.numbers or not 0 < most < needed:
        return ""
    if look.last[start] >= start + offset_bytes(result) + needed:
        return ""
    size = result.element_size()
    return (
        f"at most {most // size} of {result.numel()} elements of result {number} are written, by {look.told[start]}, and "
        "the last element by none of those that were looked at"
    )


def sample(count: int) -> list[int]:
    """Programs of a launch: the last one, the first, and some between."""
    between = random.Random(count).sample(range(count), min(count, SAMPLE - 2))
    return list(dict.fromkeys([count - 1, 0, *between])) if count else []
