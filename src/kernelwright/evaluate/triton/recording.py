"""The recording of one call of a model, launch by launch, and the launch plan that it comes to.

Results must be whole memory of their own with the task's shapes and types.

Arguments have the order and the types of Triton's own launcher: `expand_signature` and `make_tensordesc_arg` of
triton/backends/nvidia/driver.py (3.6 and 3.7), and `launchKernel` of its driver.c.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, cast

import torch
from triton.backends.nvidia import driver
from triton.runtime._allocation import NullAllocator, _allocator

from kernelwright.evaluate.triton.device import Call
from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.ledger import ALIGNMENT, MisalignedError, TensorTracker
from kernelwright.evaluate.triton.model import flatten
from kernelwright.evaluate.triton.untyped import Untyped
from kernelwright.records.launch import Argument, Launch, LaunchPlan, Null, Number, Pointer, TensorMap, Workspace
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

NumberType = Literal["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
NUMBERS: dict[str, NumberType] = {
    "i1": "i8", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u1": "u8", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "fp64": "f64",
}  # fmt: skip
"""Triton's scalar types, by the width that its launcher passes."""

Place = Callable[[object], Pointer]
"""Tells whose memory a tensor is."""


def expand(
    signature: Sequence[Untyped], arguments: Sequence[object], descriptors: Sequence[Untyped] | None, place: Place
) -> Iterator[Argument]:
    """What the kernel is passed for `arguments`, without the two scratch pointers at the end.

    Args:
        signature: Triton's type of each argument; `constexpr` ones are compiled in.
        arguments: what host code passed.
        descriptors: the compiler's facts of each tensor descriptor; none where the architecture has no such engine.
        place: tells whose memory a tensor is.

    Raises:
        UnsupportedError: a launch plan has no such argument.
        MisalignedError: a tensor descriptor's address is no multiple of 16.
        and whatever `place` raises.
    """
    facts = iter(descriptors or ())
    for kind, value in zip(signature, arguments, strict=True):
        if isinstance(kind, tuple):
            yield from expand(kind, cast("Sequence[object]", value), None, place)
        elif kind == "constexpr":
            continue
        elif kind.startswith("*"):
            yield Null() if value is None else place(value)
        elif kind in NUMBERS:
            yield number(kind, value)
        elif kind.startswith("tensordesc<"):
            yield from _descriptor(value, next(facts, None), place)
        else:
            raise UnsupportedError(f"an argument of type {kind!r} cannot be planned")


def number(kind: str, value: Untyped) -> Number:
    """A scalar with the width that the kernel expects; bfloat16 is cut off as Triton's launcher cuts it."""
    if kind == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", float(value)))
        (value,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
    return Number(type=NUMBERS[kind], value=float(value) if "f" in kind else int(value))


def _descriptor(value: Untyped, facts: Untyped, place: Place) -> Iterator[Argument]:
    """A `TensorDescriptor`: a tensor map, or its parts where the architecture has none; then shape and strides."""
    if facts is None:
        yield place(value.base)
        yield from _sizes(value, "i64")
        yield number("i1", value.padding == "nan")
        if hasattr(value, "round_f32_to_tf32"):  # new in 3.7
            yield number("i1", value.round_f32_to_tf32)
    else:
        yield _tensor_map(value, facts, place)
    yield from _sizes(value, "i32")


def _sizes(value: Untyped, width: str) -> Iterator[Argument]:
    yield from (number(width, size) for size in value.shape)
    yield from (number("i64", stride) for stride in value.strides)


def _tensor_map(value: Untyped, facts: Untyped, place: Place) -> TensorMap:
    if facts["fp4_padded"]:
        raise UnsupportedError("tensor descriptors of 4-bit numbers cannot be planned")
    if value.base.data_ptr() % ALIGNMENT:
        raise MisalignedError("a tensor descriptor needs an address that is a multiple of 16")
    size = int(facts["elem_size"])
    rounded = getattr(value, "round_f32_to_tf32", False)
    kind = driver.TMA_TF32 if rounded else driver.TMA_DTYPE_DEVICE_TO_HOST[facts["elem_type"]]
    return TensorMap(
        pointer=place(value.base),
        dtype=kind,
        shape=tuple(int(n) for n in reversed(value.shape)),
        strides_bytes=tuple(size * int(n) for n in reversed(value.strides[:-1])),
        box=tuple(int(n) for n in reversed(facts["block_size"])),
        swizzle=int(facts["swizzle"]),
        nan_fill=value.padding == "nan",
    )


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

    def __init__(self, ledger: TensorTracker, modules: Modules) -> None:
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
        descriptors: Untyped = getattr(call.metadata, "tensordesc_meta", None)
        try:
            return tuple(expand(call.signature, call.arguments, descriptors, self._ledger.place))
        except UnsupportedError as error:
            self._ledger.refuse(str(error))

    def _scratch(self, facts: Untyped, blocks: int) -> Iterator[Argument]:
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
        state = self._state(workload)
        results = self._results((*flatten(result), *state), workload)
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
            renewed=tuple(range(len(workload.outputs) - len(state), len(workload.outputs))),
            label=label,
        )

    def _state(self, workload: Workload) -> tuple[torch.Tensor, ...]:
        """The new values of the state, in order, if the call has copied all of them to where they lie."""
        names = [parameter.name for parameter in workload.parameters]
        renewed = {names[index]: value for index, value in self._ledger.renewed.items()}
        if renewed.keys() - {*workload.state}:
            self._ledger.refuse("changes a parameter that the task leaves as it is")
        if renewed.keys() != {*workload.state}:
            self._ledger.refuse("does not copy all of the task's new state to where it lies")
        return tuple(renewed[name] for name in workload.state)

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
