"""The smallest program that ncu can count: one empty kernel through the driver alone, without torch.

Run as `python -c` by `doctor`; nothing of it is imported there.
"""

PROBE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def done(status):
    assert status == 0, status
context, module, function, device = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
done(cuda.cuInit(0))
done(cuda.cuDeviceGet(ctypes.byref(device), 0))
done(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
done(cuda.cuCtxSetCurrent(context))
ptx = b".version 6.4\\n.target sm_70\\n.address_size 64\\n.visible .entry probe() { ret; }\\n\\0"
done(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
done(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"probe"))
done(cuda.cuLaunchKernel(function, *[ctypes.c_uint(n) for n in (1, 1, 1, 32, 1, 1, 0)], None, None, None))
done(cuda.cuCtxSynchronize())
"""
METRIC = "sm__cycles_active.avg"
ADMIN_ONLY = "/proc/driver/nvidia/params"
"""Where the driver says `RmProfilingAdminOnly: 1` when counters are for the administrator."""
