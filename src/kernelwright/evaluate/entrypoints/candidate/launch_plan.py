"""A LaunchPlan bound to loaded binaries: functions looked up, limits raised, arguments laid out for the driver.

All that can be done before the clock is done here; what is left for a call is one driver call a launch. Runs inside
children whose host code is ours.
"""

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.cuda_arena import check
from kernelwright.records.launch import Launch, LaunchPlan, Null, Number, Pointer, TensorMap

Places = dict[str, list[int]]
"""Device addresses by kind of buffer."""
Enqueue = Callable[[int], None]
"""Queues one call on the stream with this handle."""

FORMATS = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip
MAP_BYTES, MAP_ALIGNED = 128, 64
INTERLEAVE_NONE, PROMOTION_128B = 0, 2
"""What Triton encodes its tensor maps with, from cuda.h."""
_SHARED = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
STATIC_LIMIT = 48 << 10
"""Dynamic shared memory that a kernel may have without asking, in bytes."""


@dataclass
class Bound:
    """A plan that is ready."""

    plan: LaunchPlan
    functions: list[Any]
    workspaces: list[torch.Tensor]
    output_bytes: Sequence[int]
    state: list[torch.Tensor]
    """Where new state is copied to: not to the parameters, so that every call finds the same ones."""

    def call(self, places: Places, left_out: Sequence[int] = ()) -> Enqueue:
        """One call with these addresses; launches in `left_out` are skipped, to see whether they matter."""
        places = {**places, "workspace": [w.data_ptr() for w in self.workspaces]}
        zeroed = [
            (w.data_ptr(), s.nbytes) for w, s in zip(self.workspaces, self.plan.workspaces, strict=True) if s.zeroed
        ]
        zeroed += [(places["output"][i], self.output_bytes[i]) for i in self.plan.zeroed_outputs]
        prepared = [
            _prepared(function, launch, places)
            for i, (function, launch) in enumerate(zip(self.functions, self.plan.launches, strict=True))
            if i not in left_out
        ]

        copies = [
            (kept.data_ptr(), places["output"][i], kept.nbytes)
            for kept, i in zip(self.state, self.plan.renewed, strict=True)
        ]

        def enqueue(stream: int) -> None:
            for pointer, nbytes in zeroed:
                check(driver.cuMemsetD8Async(pointer, 0, nbytes, stream))
            for launch in prepared:
                launch(stream)
            for target, source, nbytes in copies:
                check(driver.cuMemcpyDtoDAsync(target, source, nbytes, stream))

        return enqueue


def bind(plan: LaunchPlan, modules: Sequence[object], output_bytes: Sequence[int]) -> Bound:
    """Look up the kernels and allocate workspaces.

    Raises:
        MachineError: the driver knows no such kernel, or refuses its needs.
    """
    functions = [_function(launch, modules) for launch in plan.launches]
    workspaces = [torch.empty(w.nbytes, dtype=torch.uint8, device="cuda") for w in plan.workspaces]
    state = [torch.empty(output_bytes[i], dtype=torch.uint8, device="cuda") for i in plan.renewed]
    return Bound(plan, functions, workspaces, output_bytes, state)


def _function(launch: Launch, modules: Sequence[object]) -> Any:  # noqa: ANN401 (a handle of the driver's)
    function = check(driver.cuModuleGetFunction(modules[launch.module], launch.kernel.encode()))
    if launch.shared_bytes > STATIC_LIMIT:
        check(driver.cuFuncSetAttribute(function, _SHARED, launch.shared_bytes))
    if max(launch.cluster) > 1:
        portable = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        check(driver.cuFuncSetAttribute(function, portable, 1))
    return function


def _prepared(function: Any, launch: Launch, places: Places) -> Enqueue:  # noqa: ANN401
    """The launch with its arguments laid out; they are kept alive by what is returned."""
    values = [_value(argument, places) for argument in launch.arguments]
    pointers = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(v) for v in values))
    address = ctypes.addressof(pointers) if values else 0
    if max(launch.cluster) == 1 and not launch.cooperative:
        dims = (*launch.grid, *launch.block, launch.shared_bytes)

        def plain(stream: int, keep: object = (values, pointers)) -> None:
            check(driver.cuLaunchKernel(function, *dims, stream, address, 0))

        return plain
    configuration = _configuration(launch)

    def extended(stream: int, keep: object = (values, pointers)) -> None:
        configuration.hStream = driver.CUstream(stream)
        check(driver.cuLaunchKernelEx(configuration, function, address, 0))

    return extended


def _configuration(launch: Launch) -> Any:  # noqa: ANN401
    configuration = driver.CUlaunchConfig()
    configuration.gridDimX, configuration.gridDimY, configuration.gridDimZ = launch.grid
    configuration.blockDimX, configuration.blockDimY, configuration.blockDimZ = launch.block
    configuration.sharedMemBytes = launch.shared_bytes
    attributes = []
    if max(launch.cluster) > 1:
        cluster = driver.CUlaunchAttribute()
        cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dim = cluster.value.clusterDim
        dim.x, dim.y, dim.z = launch.cluster
        attributes.append(cluster)
    if launch.cooperative:
        together = driver.CUlaunchAttribute()
        together.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        together.value.cooperative = 1
        attributes.append(together)
    configuration.attrs, configuration.numAttrs = attributes, len(attributes)
    return configuration


def _value(argument: Pointer | Null | Number | TensorMap, places: Places) -> Any:  # noqa: ANN401 (ctypes)
    if isinstance(argument, Pointer):
        return ctypes.c_uint64(places[argument.buffer][argument.index] + argument.offset)
    if isinstance(argument, Null):
        return ctypes.c_uint64(0)
    if isinstance(argument, TensorMap):
        return _tensor_map(argument, places)
    if argument.type == "bf16":
        return ctypes.c_uint16(struct.unpack("<I", struct.pack("<f", argument.value))[0] >> 16)
    packed = struct.pack(f"<{FORMATS[argument.type]}", argument.value)
    return ctypes.create_string_buffer(packed, len(packed))


def _tensor_map(argument: TensorMap, places: Places) -> Any:  # noqa: ANN401
    """128 bytes that the kernel takes by value; encoded through ctypes, since the bindings keep them unaligned."""
    room = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNED)
    start = -ctypes.addressof(room) % MAP_ALIGNED
    encoded = (ctypes.c_char * MAP_BYTES).from_buffer(room, start)
    rank, wide, narrow = len(argument.shape), ctypes.c_uint64, ctypes.c_uint32
    base = places[argument.pointer.buffer][argument.pointer.index] + argument.pointer.offset
    strides = (*argument.strides_bytes, 0)  # the last one is not read
    failed = _libcuda().cuTensorMapEncodeTiled(
        ctypes.byref(encoded), argument.dtype, narrow(rank), ctypes.c_void_p(base),
        (wide * rank)(*argument.shape), (wide * rank)(*strides), (narrow * rank)(*argument.box),
        (narrow * rank)(*[1] * rank), INTERLEAVE_NONE, argument.swizzle, PROMOTION_128B, int(argument.nan_fill),
    )  # fmt: skip
    if failed:
        raise ValueError(f"the driver refuses a tensor map of shape {argument.shape}: error {failed}")
    return encoded


@functools.cache
def _libcuda() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
