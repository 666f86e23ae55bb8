"""The smallest launcher of launch plans: enough to say whether a captured plan is what the candidate would have launched."""

import ctypes
import struct

import torch
from cuda.bindings import driver

from kernelwright.records.launch import Null, Number, Pointer

ALIGNED, MAP_BYTES = 64, 128
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
        data = self._content(argument)
        buffer = ctypes.create_string_buffer(len(data) + ALIGNED)
        address = -(-ctypes.addressof(buffer) // ALIGNED) * ALIGNED
        ctypes.memmove(address, data, len(data))
        return buffer, address

    def _content(self, argument):
        if isinstance(argument, Number):
            return pack(argument)
        if isinstance(argument, Null):
            return bytes(8)
        if isinstance(argument, Pointer):
            return struct.pack("<Q", self._address(argument))
        return self._tensor_map(argument)

    def _address(self, pointer):
        return self._buffers[pointer.buffer][pointer.index].data_ptr() + pointer.offset

    def _tensor_map(self, wanted):
        found = check(
            driver.cuTensorMapEncodeTiled(
                driver.CUtensorMapDataType(wanted.dtype),
                len(wanted.shape),
                self._address(wanted.pointer),
                [driver.cuuint64_t(n) for n in wanted.shape],
                [driver.cuuint64_t(n) for n in wanted.strides_bytes],
                [driver.cuuint32_t(n) for n in wanted.box],
                [driver.cuuint32_t(1)] * len(wanted.shape),
                driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                driver.CUtensorMapSwizzle(wanted.swizzle),
                driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                driver.CUtensorMapFloatOOBfill(int(wanted.nan_fill)),
            )
        )
        return ctypes.string_at(int(found.getPtr()), MAP_BYTES)
