"""The smallest launcher of launch plans: enough to say whether a captured plan is what the candidate would have launched."""

import ctypes
import struct

import torch
from cuda.bindings import driver

from kernelwright.records.launch import Null, Number, TensorMap

ALIGNED, MAP_BYTES = 64, 128
INTERLEAVE_NONE, PROMOTION_128B = 0, 2
"""What Triton encodes its tensor maps with, from cuda.h."""
FORMATS = {
    "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


def check(result):
    assert int(result[0]) == 0, result[0]
    return result[1] if len(result) == 2 else result[1:]


def pack(number):
    """A scalar's bytes, as the kernel takes them."""
    if number.type == "bf16":
        return struct.pack("<f", number.value)[2:]
    return struct.pack("<" + FORMATS[number.type], number.value)


class PlanLauncher:
    """A program's modules, loaded into torch's context."""

    def __init__(self, program):
        torch.zeros(1, device="cuda")
        self._modules = [check(driver.cuModuleLoadData(m)) for m in program.modules]

    def run(self, plan, inputs, parameters, outputs):
        """Launch everything on torch's stream; `outputs` are written."""
        spaces = [torch.full((w.nbytes,), 0xFF, dtype=torch.uint8, device="cuda") for w in plan.workspaces]
        for space, wanted in zip(spaces, plan.workspaces, strict=True):
            if wanted.zeroed:
                space.zero_()
        for index in plan.zeroed_outputs:
            outputs[index].zero_()
        self._buffers = {"input": inputs, "parameter": parameters, "output": outputs, "workspace": spaces}
        for launch in plan.launches:
            self._launch(launch)
        torch.cuda.synchronize()

    def _launch(self, launch):
        function = check(driver.cuModuleGetFunction(self._modules[launch.module], launch.kernel.encode()))
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuFuncSetAttribute(function, attribute, launch.shared_bytes))
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes = launch.shared_bytes
        config.hStream = torch.cuda.current_stream().cuda_stream
        config.attrs = self._attributes(launch)
        config.numAttrs = len(config.attrs)
        kept = [self._bytes(a) for a in launch.arguments]
        pointers = (ctypes.c_void_p * len(kept))(*(address for _, address in kept))
        check(driver.cuLaunchKernelEx(config, function, ctypes.addressof(pointers), 0))

    def _attributes(self, launch):
        kinds, found = driver.CUlaunchAttributeID, []
        if launch.cluster != (1, 1, 1):
            found.append(driver.CUlaunchAttribute())
            found[-1].id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            size = found[-1].value.clusterDim
            size.x, size.y, size.z = launch.cluster
        if launch.cooperative:
            found.append(driver.CUlaunchAttribute())
            found[-1].id = kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            found[-1].value.cooperative = 1
        return found

    def _bytes(self, argument):
        """A buffer with the argument, and the address in it, aligned as a tensor map must be."""
        data = b"" if isinstance(argument, TensorMap) else self._content(argument)
        buffer = ctypes.create_string_buffer(max(len(data), MAP_BYTES) + ALIGNED)
        address = -(-ctypes.addressof(buffer) // ALIGNED) * ALIGNED
        ctypes.memmove(address, data, len(data))
        if isinstance(argument, TensorMap):
            self._encode(argument, address)
        return buffer, address

    def _content(self, argument):
        if isinstance(argument, Number):
            return pack(argument)
        return bytes(8) if isinstance(argument, Null) else struct.pack("<Q", self._address(argument))

    def _address(self, pointer):
        return self._buffers[pointer.buffer][pointer.index].data_ptr() + pointer.offset

    def _encode(self, wanted, address):
        """Through ctypes, since the bindings keep a tensor map where it is not aligned."""
        rank, wide, narrow = len(wanted.shape), ctypes.c_uint64, ctypes.c_uint32
        strides = (*wanted.strides_bytes, 0)  # the last one is not read
        failed = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), wanted.dtype, narrow(rank), ctypes.c_void_p(self._address(wanted.pointer)),
            (wide * rank)(*wanted.shape), (wide * rank)(*strides), (narrow * rank)(*wanted.box),
            (narrow * rank)(*[1] * rank), INTERLEAVE_NONE, wanted.swizzle, PROMOTION_128B, int(wanted.nan_fill),
        )  # fmt: skip
        assert not failed, failed
