"""The ledger of a capture: whose memory each tensor is, where it pretends to lie, and what host code does to it.

Static host code may make tensors, fill them with zeros before a kernel uses them, view them in other ways, ask for their
shapes, and copy what a kernel made to a parameter that it gives no kernel any more: that is how state is renewed. Everything
that computes a value is refused, by its name.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.evaluate.triton.device import offset_bytes
from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.untyped import Untyped
from kernelwright.records.launch import Pointer

ALIGNMENT = 16
"""Bytes; Triton compiles another kernel for pointers that are multiples of it."""
SPACE, APART = 1 << 44, 1 << 38
"""How far apart the pretended addresses of two captures lie, and those of two allocations."""
EMPTY = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
FILLED = ("zeros", "zeros_like", "new_zeros", "full", "full_like", "new_full", "ones", "ones_like", "new_ones")
ON_HOST_BY_DEFAULT = ("empty", "empty_strided", "empty_permuted", "zeros", "full", "ones")
METADATA = (
    "sym_size",
    "sym_stride",
    "sym_numel",
    "sym_storage_offset",
    "is_contiguous",
    "size",
    "stride",
    "numel",
    "dim",
)
VALUE_OF = {"_local_scalar_dense": "asks for a value", "item": "asks for a value", "is_nonzero": "asks for a value"}

_CAPTURES = itertools.count(1)


class NotStaticError(UnsupportedError):
    """Host code does what no launch plan can say; the message says what."""


class MisalignedError(AssertionError):
    """A tensor descriptor of an address that is no multiple of 16; what Triton raises for it, too."""


@dataclass
class Allocation:
    """Memory that host code took during the call."""

    nbytes: int
    zeroed: bool = False
    launched: bool = False
    """Whether a kernel has been given it."""


class TensorTracker(TorchDispatchMode):  # type: ignore[misc]
    """Watches one call of the model. Inputs and parameters are told beforehand; whatever else it meets is nobody's.

    Args:
        aligned: whether the inputs lie at multiples of 16 bytes.
        named_gpu: whether the call that is going on names the GPU as a device.
    """

    def __init__(self, aligned: bool, named_gpu: Callable[[], bool]) -> None:
        super().__init__()
        self.allocations: list[Allocation] = []
        self.reason = ""
        self.renewed: dict[int, torch.Tensor] = {}
        """What was copied to parameters, by their number."""
        self._aligned, self._named_gpu = aligned, named_gpu
        self._owners: dict[int, Pointer] = {}
        self._addresses: dict[int, int] = {}
        self._kept: list[object] = []
        self._next = SPACE * next(_CAPTURES)

    def own(self, kind: Literal["input", "parameter"], tensors: Sequence[torch.Tensor]) -> None:
        """Tell whose memory these tensors are: the task's, in order."""
        for index, tensor in enumerate(tensors):
            self._owners[self._key(tensor)] = Pointer(buffer=kind, index=index)

    def place(self, tensor: object) -> Pointer:
        """The buffer and the offset that a kernel is given; an allocation is a workspace with its number.

        Raises:
            NotStaticError: it is no tensor that the task owns or that this call made.
        """
        base = getattr(tensor, "base", tensor)  # triton.reinterpret wraps a tensor
        if not isinstance(base, torch.Tensor):
            self.refuse(f"passes a {type(tensor).__name__} where a kernel expects a pointer")
        owner = self.owner(base)
        if owner is None:
            self.refuse("passes a kernel a tensor that is neither the task's nor made in this call of forward")
        if owner.buffer == "parameter" and owner.index in self.renewed:
            self.refuse("gives a kernel a parameter that this call has copied to")
        if owner.buffer == "workspace":
            if owner in map(self.owner, self.renewed.values()):
                self.refuse("gives a kernel memory that this call has copied to a parameter")
            self.allocations[owner.index].launched = True
        return owner.model_copy(update={"offset": offset_bytes(base)})

    def scratch(self, nbytes: int) -> Pointer:
        """Memory that a launch needs for itself."""
        self.allocations.append(Allocation(nbytes=nbytes, launched=True))
        return Pointer(buffer="workspace", index=len(self.allocations) - 1)

    def owner(self, tensor: torch.Tensor) -> Pointer | None:
        """The start of the buffer that a tensor lies in; None where it is nobody's."""
        return self._owners.get(self._key(tensor))

    def address(self, tensor: torch.Tensor) -> int:
        """What the tensor gives as its `data_ptr()`: another number in each capture."""
        key = self._key(tensor)
        if key not in self._addresses:
            self._addresses[key] = self._next
            self._next += APART
        found = self._addresses[key] + offset_bytes(tensor)
        owner = self._owners.get(key)
        if not self._aligned and owner is not None and owner.buffer == "input" and found % ALIGNMENT == 0:
            # No window of an input may pass for aligned: the launcher's pointers are off by any number of elements.
            found += tensor.element_size() % ALIGNMENT
        return found

    def refuse(self, reason: str) -> NoReturn:
        """Note why this host code is not static.

        Raises:
            NotStaticError: always; the reason is kept as well, since untrusted code may swallow the exception.
        """
        self.reason = self.reason or reason
        raise NotStaticError(self.reason)

    def __torch_dispatch__(
        self, func: Untyped, _types: object, args: tuple[Untyped, ...] = (), kwargs: Mapping[str, Untyped] | None = None
    ) -> object:
        """Let an operation pass, note what it does to memory, or refuse it."""
        named = dict(kwargs or {})
        name = func.overloadpacket.__name__ if func.namespace == "aten" else str(func)
        if name in EMPTY or name in FILLED:
            self._must_be_on_gpu(name)
            result = func(*args, **named)
            self._allocate(result, name, args)
            return result
        if name in ("zero_", "fill_"):
            self._fill(args, name)
        elif name == "copy_":
            self._renew(*args[:2])
        elif not (func.namespace == "prim" or (func.namespace == "aten" and (func.is_view or name in METADATA))):
            self.refuse(f"{VALUE_OF.get(name, 'computes')} outside its kernels: {name}")
        return func(*args, **named)

    def _must_be_on_gpu(self, name: str) -> None:
        if name in ON_HOST_BY_DEFAULT and not self._named_gpu():
            self.refuse(f"makes a tensor in the host's memory: {name} without a device")

    def _allocate(self, tensor: torch.Tensor, name: str, args: tuple[Untyped, ...]) -> None:
        if name not in EMPTY and not ("zeros" in name or ("full" in name and _is_zero(args[-1]))):
            self.refuse(f"makes a tensor of other values than zeros: {name}")
        self._owners[self._key(tensor)] = Pointer(buffer="workspace", index=len(self.allocations))
        nbytes = tensor.untyped_storage().nbytes()
        self.allocations.append(Allocation(nbytes=nbytes, zeroed=name not in EMPTY))

    def _fill(self, args: tuple[Untyped, ...], name: str) -> None:
        """Zeros before the first kernel that meets the memory may cover more than was asked for: the rest is undefined."""
        owner = self.owner(args[0])
        if owner is None or owner.buffer != "workspace":
            self.refuse(f"writes to a tensor that this call did not make: {name}")
        allocation = self.allocations[owner.index]
        if allocation.launched or not (name == "zero_" or _is_zero(args[1])):
            self.refuse(f"fills memory between two kernels, or not with zeros: {name}")
        allocation.zeroed = True

    def _renew(self, parameter: torch.Tensor, value: torch.Tensor) -> None:
        """A copy of what a kernel made, to the whole of a parameter, once."""
        owner, source = self.owner(parameter), self.owner(value)
        if owner is None or source is None or (owner.buffer, source.buffer) != ("parameter", "workspace"):
            self.refuse("computes outside its kernels: copy_")
        whole = parameter.is_contiguous() and parameter.nbytes == parameter.untyped_storage().nbytes()
        alike = (parameter.dtype, parameter.shape) == (value.dtype, value.shape)
        if not (whole and alike) or owner.index in self.renewed or not self.allocations[source.index].launched:
            self.refuse("copies to a part of a parameter, twice, in another dtype, or what no kernel made: copy_")
        self.renewed[owner.index] = value

    def _key(self, tensor: torch.Tensor) -> int:
        """A storage's identity, which stays its own since the storage is kept."""
        storage = tensor.untyped_storage()
        key = int(storage._cdata)
        if key not in self._addresses and key not in self._owners:
            self._kept.append(storage)
        return key


def _is_zero(value: object) -> bool:
    return isinstance(value, bool | int | float) and value == 0
