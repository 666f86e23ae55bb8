"""Device memory that is shared as file descriptors: one CUDA VMM allocation a tensor, mapped by whoever holds its descriptor.

Legacy CUDA IPC fails across users and exposes a whole allocator block; a VMM allocation works across users and
namespaces, shares exactly the buffer, and can be mapped without write access (docs/referee.md). Needs the `cuda-bindings`
package. Usable in the grader (`CudaArena`) and in children (`CudaView`).
"""

import os
import resource
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from cuda.bindings import driver

from kernelwright.errors import MachineError
from kernelwright.records.tensor import TensorSpec

LINE = 512
"""Alignment of results in an outbox, in bytes: the child keeps to it, the grader insists on it."""
_FILE = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_READ = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READ
_WRITE = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE


def check(result: tuple[Any, ...]) -> Any:  # noqa: ANN401 (the bindings' own return)
    """The value of a driver call.

    Raises:
        torch.OutOfMemoryError: the device's memory is full.
        MachineError: the driver refused.
    """
    if result[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise torch.OutOfMemoryError("the CUDA driver has no memory left")
    if int(result[0]):
        raise MachineError(f"the CUDA driver refused: {result[0]!r}. Is the GPU's memory free and the driver recent?")
    return result[1] if len(result) == 2 else result[1:]


class _Bytes:
    """Device memory that torch can look at."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3, "strides": None,
        }  # fmt: skip


def window(pointer: int, size: int) -> torch.Tensor:
    """Bytes of the device's memory, as a tensor that shares them."""
    return torch.as_tensor(_Bytes(pointer, size), device="cuda")


class Mapping:
    """One allocation mapped into this process."""

    def __init__(self, handle: object, size: int, writable: bool) -> None:
        self._handle, self.size = handle, size
        with ExitStack() as held:
            # A full device may refuse any of these: what came before is nobody's then.
            held.callback(driver.cuMemRelease, handle)
            self.pointer = int(check(driver.cuMemAddressReserve(size, 0, 0, 0)))
            held.callback(driver.cuMemAddressFree, self.pointer, size)
            check(driver.cuMemMap(self.pointer, size, 0, handle, 0))
            held.callback(driver.cuMemUnmap, self.pointer, size)
            access = driver.CUmemAccessDesc()
            access.location = _location()
            access.flags = _WRITE if writable else _READ
            check(driver.cuMemSetAccess(self.pointer, size, [access], 1))
            self._bytes = window(self.pointer, size)
            held.pop_all()

    def tensor(self, offset: int, spec: TensorSpec) -> torch.Tensor:
        """The window at a byte offset; it need not be aligned to more than an element."""
        window = self._bytes[offset : offset + spec.nbytes]
        return window.view(getattr(torch, spec.dtype)).view(spec.shape)

    def raw(self, offset: int, size: int) -> torch.Tensor:
        """The bytes of a window."""
        return self._bytes[offset : offset + size]

    def close(self) -> None:
        """Unmap; the memory is freed when nobody has it mapped or open any more."""
        check(driver.cuMemUnmap(self.pointer, self.size))
        check(driver.cuMemAddressFree(self.pointer, self.size))
        check(driver.cuMemRelease(self._handle))


class CudaArena:
    """Memory of the grader's on the device, one descriptor a segment."""

    def __init__(self, capacities: Sequence[int]) -> None:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        _allow_descriptors()
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location = _location()
        properties.requestedHandleTypes = _FILE
        minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        grain = int(check(driver.cuMemGetAllocationGranularity(properties, minimum)))
        self._mappings: list[Mapping] = []
        self.descriptors: list[int] = []
        with ExitStack() as held:
            # Where the last one finds no room, those before it are nobody's.
            held.callback(self.close)
            for capacity in capacities:
                size = -(-max(capacity, 1) // grain) * grain
                handle = check(driver.cuMemCreate(size, properties, 0))
                self._mappings.append(Mapping(handle, size, writable=True))
                self.descriptors.append(int(check(driver.cuMemExportToShareableHandle(handle, _FILE, 0))))
            held.pop_all()

    def tensor(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """A window of a segment in the grader's own mapping."""
        return self._mappings[index].tensor(offset, spec)

    def bytes(self, index: int, offset: int, size: int) -> torch.Tensor:
        """The raw bytes of a window, in the grader's own mapping."""
        return self._mappings[index].raw(offset, size)

    def layout(self) -> list[int]:
        """Sizes of the segments, for the children."""
        return [m.size for m in self._mappings]

    def close(self) -> None:
        """Free the grader's share, once nothing that was queued can still touch it."""
        if self._mappings:
            driver.cuCtxSynchronize()  # whatever it answers: a device that is broken does nothing any more
        for mapping in self._mappings:
            mapping.close()
        for descriptor in self.descriptors:
            os.close(descriptor)


class CudaView:
    """Somebody else's arena, in a child."""

    def __init__(self, descriptors: Sequence[int], sizes: Sequence[int], writable: bool) -> None:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self._mappings = []
        for descriptor, size in zip(descriptors, sizes, strict=True):
            handle = check(driver.cuMemImportFromShareableHandle(descriptor, _FILE))
            self._mappings.append(Mapping(handle, size, writable))
            os.close(descriptor)

    def holds(self, address: int) -> bool:
        """Whether this is memory of the arena's."""
        return any(m.pointer <= address < m.pointer + m.size for m in self._mappings)

    def pointer(self, index: int) -> int:
        """Where a segment begins in this process."""
        return self._mappings[index].pointer

    def tensor(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """A window of a segment; a write to it is an illegal address unless it was mapped writable."""
        return self._mappings[index].tensor(offset, spec)


def _allow_descriptors() -> None:
    """A network has hundreds of tensors, a descriptor each, and several tasks are open: more than the usual 1024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _location() -> Any:  # noqa: ANN401 (a type of the bindings)
    location = driver.CUmemLocation()
    location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    location.id = torch.cuda.current_device()
    return location


class CopiedView:
    """Private, writable copies of the windows of somebody else's arena, made when they are first asked for."""

    def __init__(self, view: CudaView) -> None:
        self._view = view
        self._copies: dict[tuple[int, int], torch.Tensor] = {}

    def tensor(self, index: int, offset: int, spec: TensorSpec) -> torch.Tensor:
        """The copy of a window; always the same one."""
        place = (index, offset)
        if place not in self._copies:
            self._copies[place] = self._view.tensor(index, offset, spec).clone()
        return self._copies[place]

    def holds(self, address: int) -> bool:
        """Whether this is memory of a copy's, or of the arena's."""
        return self._view.holds(address) or any(
            t.data_ptr() <= address < t.data_ptr() + t.nbytes for t in self._copies.values()
        )
