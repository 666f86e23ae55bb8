"""The recording of one call of a model, launch by launch, and the launch plan that it comes to.

Results must be whole memory of their own with the task's shapes and types.
"""

from collections.abc import Iterator, Mapping

import torch
from triton.runtime._allocation import NullAllocator, _allocator

from kernelwright.evaluate.triton.arguments import expand
from kernelwright.evaluate.triton.device import Call
from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.foreign import Foreign
from kernelwright.evaluate.triton.ledger import Ledger
from kernelwright.evaluate.triton.model import flatten
from kernelwright.records.launch import Argument, Launch, LaunchPlan, Null, Pointer, TensorMap, Workspace
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec


class Modules:
    """Distinct binaries in the order of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.calls: list[Call] = []
        """The first call of each."""

    @property
    def cubins(self) -> tuple[bytes, ...]:
        """The binaries."""
        return tuple(self._numbers)

    def number(self, call: Call) -> int:
        """The place of a call's binary."""
        if call.cubin not in self._numbers:
            self._numbers[call.cubin] = len(self._numbers)
            self.calls.append(call)
        return self._numbers[call.cubin]


class Recording:
    """What one call of the model launches."""

    def __init__(self, ledger: Ledger, modules: Modules) -> None:
        self._ledger, self._modules = ledger, modules
        self._launches: list[Launch] = []

    def add(self, call: Call) -> None:
        """Note one launch.

        Raises:
            NotStaticError: a launch plan cannot say it.
        """
        facts = call.metadata
        x, y, z = call.grid
        clusters = int(getattr(facts, "num_ctas", 1))
        self._launches.append(
            Launch(
                kernel=call.name,
                module=self._modules.number(call),
                grid=(x * clusters, y, z),
                block=(facts.target.warp_size * facts.num_warps, 1, 1),
                shared_bytes=facts.shared,
                cluster=(clusters, 1, 1),
                cooperative=bool(facts.launch_cooperative_grid),
                programmatic=bool(facts.launch_pdl),
                arguments=(*self._arguments(call), *self._scratch(facts, x * y * z * clusters)),
            )
        )

    def _arguments(self, call: Call) -> tuple[Argument, ...]:
        descriptors: Foreign = getattr(call.metadata, "tensordesc_meta", None)
        try:
            return tuple(expand(call.signature, call.arguments, descriptors, self._ledger.place))
        except UnsupportedError as error:
            self._ledger.refuse(str(error))

    def _scratch(self, facts: Foreign, blocks: int) -> Iterator[Argument]:
        """The hidden pointers at the end: the kernel's own scratch memory, and the profiler's."""
        for kind in ("global_scratch_size", "profile_scratch_size"):
            size = int(getattr(facts, kind))
            if size and isinstance(_allocator.get(), NullAllocator):
                self._ledger.refuse("launches a kernel that needs scratch memory without triton.set_allocator")
            yield self._ledger.scratch(size * blocks) if size else Null()

    def plan(self, result: object, workload: Workload, label: str) -> LaunchPlan:
        """What the call came to.

        Args:
            result: what the model returned.
            workload: what the results should be.
            label: what tells this plan from others.

        Raises:
            NotStaticError: the host code did something else than launching, or its results are no memory of their own.
            TypeError: a result is no tensor.
        """
        ledger = self._ledger
        results = self._results(flatten(result), workload)
        if ledger.reason or not self._launches:
            ledger.refuse("launches no kernel of Triton")
        used = [n for n, a in enumerate(ledger.allocations) if a.launched and n not in results]
        places = {n: Pointer(buffer="output", index=k) for n, k in results.items()}
        places |= {n: Pointer(buffer="workspace", index=k) for k, n in enumerate(used)}
        allocations = ledger.allocations
        return LaunchPlan(
            launches=tuple(_placed(launch, places) for launch in self._launches),
            workspaces=tuple(
                Workspace(nbytes=max(allocations[n].nbytes, 1), zeroed=allocations[n].zeroed) for n in used
            ),
            zeroed_outputs=tuple(k for n, k in results.items() if allocations[n].zeroed),
            label=label,
        )

    def _results(self, tensors: tuple[torch.Tensor, ...], workload: Workload) -> dict[int, int]:
        """Which allocation is which output."""
        wanted = workload.outputs
        if len(tensors) != len(wanted):
            self._ledger.refuse(f"returns {len(tensors)} tensors where the task has {len(wanted)}")
        found = {self._result(t, s): k for k, (t, s) in enumerate(zip(tensors, wanted, strict=True))}
        if len(found) != len(wanted):
            self._ledger.refuse("returns two results that share memory")
        return found

    def _result(self, tensor: torch.Tensor, spec: TensorSpec) -> int:
        """The allocation that a result is the whole of."""
        dtype, shape = str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)
        if (dtype, shape) != (spec.dtype, spec.shape):
            self._ledger.refuse(f"returns {dtype}{list(shape)} where the task has {spec.dtype}{list(spec.shape)}")
        owner = self._ledger.owner(tensor)
        if owner is None or owner.buffer != "workspace":
            self._ledger.refuse("returns a tensor that this call of forward did not make")
        if not tensor.is_contiguous() or self._ledger.allocations[owner.index].nbytes != spec.nbytes:
            self._ledger.refuse("returns a part of its memory, or not in row-major order")
        return owner.index


def _placed(launch: Launch, places: Mapping[int, Pointer]) -> Launch:
    return launch.model_copy(update={"arguments": tuple(_renamed(a, places) for a in launch.arguments)})


def _renamed(argument: Argument, places: Mapping[int, Pointer]) -> Argument:
    """An allocation by the name that the launcher knows it by."""
    if isinstance(argument, TensorMap):
        return argument.model_copy(update={"pointer": _renamed(argument.pointer, places)})
    if isinstance(argument, Pointer) and argument.buffer == "workspace":
        return places[argument.index].model_copy(update={"offset": argument.offset})
    return argument
