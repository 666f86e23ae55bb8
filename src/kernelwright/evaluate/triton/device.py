"""The GPU that is not here, as host code and Triton see it.

What a candidate's host code may ask of `torch.cuda`, and what Triton asks of its driver, is answered with the facts of
the architecture's representative device. Nothing is run: a launch is recorded. Not covered: streams, events, graphs and
memory statistics raise as on any machine without a GPU, and do so where there is one as well: no CUDA context is ever
made.
"""

import importlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import NamedTuple, NoReturn

import torch
import triton
from torch._subclasses import fake_tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner

from kernelwright.evaluate.triton.cubin import LOG_KEY
from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.evaluate.triton.untyped import Untyped, replaced
from kernelwright.evaluate.triton.vendor import VENDORS
from kernelwright.knowledge.hardware import Hardware

GPU = torch.device("cuda", 0)
ROCM = "7.0"
"""What torch says that it was built with, where it pretends that an AMD GPU is here."""
LAUNCHER_FIELDS = 4
"""What Triton passes to a launcher between the function and the kernel's arguments: metadata twice, and two hooks."""

_ANSWERS: dict[object, object] = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.device.__get__: GPU,
    torch.Tensor.get_device: 0,
}


class Call(NamedTuple):
    """One kernel launch that host code made, as Triton hands it to its launcher."""

    name: str
    grid: tuple[int, int, int]
    metadata: Untyped
    """Triton's own: warps, stages, shared bytes and whatever a stage added."""
    cubin: bytes
    signature: tuple[Untyped, ...]
    """Triton's type of every parameter, in order; a tuple's are nested."""
    arguments: tuple[object, ...]
    """What the host code passed for each parameter, constants too."""


def offset_bytes(tensor: torch.Tensor) -> int:
    """Where the tensor begins in its allocation. As an address: allocations are aligned well beyond 16 bytes."""
    return int(tensor.storage_offset() * tensor.element_size())


class RecordingDriver:
    """Triton's driver for an absent device: it compiles for it, refuses what does not fit, and records."""

    def __init__(self, device: Hardware) -> None:
        self.launches: list[Call] = []
        self.on_launch: Callable[[Call], None] = self.launches.append
        self.address: Callable[[torch.Tensor], int] = offset_bytes
        """What a tensor without memory gives as its `data_ptr()`."""
        self.utils = self
        self._device = device
        self._vendor = VENDORS[device.kind]
        self._registers = 0

    def get_current_target(self) -> GPUTarget:
        """What Triton compiles for."""
        return self._vendor.target(self._device)

    def get_current_device(self) -> int:
        """An index; the architecture's number, so that Triton's caches by device never mix two of them."""
        return self._device.number

    def get_current_stream(self, _device: int = 0) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Where host code's tensors claim to be."""
        return GPU

    def get_device_properties(self, _device: int) -> dict[str, int]:
        """The limits that Triton checks before a launch."""
        return {
            "max_shared_mem": self._device.shared_bytes_block,
            "max_num_regs": self._device.registers,
            "multiprocessor_count": self._device.multiprocessors,
            "warpSize": self._device.warp,
        }

    def load_binary(self, _name: str, cubin: bytes, _shared: int, _device: int) -> tuple[None, bytes, int, int, int]:
        """Pretend to load: the cubin itself is the function that the launcher gets.

        Triton makes the launcher of a kernel just before it loads the kernel.
        """
        return None, cubin, self._registers, 0, self._device.threads_block

    def launcher_cls(self, source: Untyped, metadata: Untyped) -> Callable[..., None]:
        """A launcher that records what it is given instead of running it; like Triton's, it runs no empty grid."""
        self._registers = self._vendor.registers(getattr(metadata, LOG_KEY, "")) or 0

        def launch(x: int, y: int, z: int, _stream: int, cubin: bytes, *rest: object) -> None:
            grid = (int(x), int(y), int(z))
            clusters = int(getattr(metadata, "num_ctas", 1))
            if flaw := self._device.too_many_blocks(metadata.name, (grid[0] * clusters, *grid[1:])):
                raise BuildError(flaw)
            if grid[0] * grid[1] * grid[2] > 0:
                signature = tuple(source.signature.values())
                self.on_launch(Call(metadata.name, grid, metadata, cubin, signature, rest[LAUNCHER_FIELDS:]))

        return launch


class CudaPretence(TorchFunctionMode):  # type: ignore[misc]
    """CPU tensors that say they are on the GPU, so that host code which checks goes on as it would there."""

    named_gpu = False
    """Whether the call that is going on names the GPU as a device."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        _types: object,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Answer questions about the device; send everything meant for the GPU to the CPU."""
        if func in _ANSWERS:
            return _ANSWERS[func]
        if func == torch.Tensor.cuda:
            return args[0]
        named = {key: _on_cpu(value) for key, value in (kwargs or {}).items()}
        self.named_gpu = any(map(_is_gpu, (*args, *(kwargs or {}).values())))
        return func(*(_on_cpu(a) for a in args), **named)


def _is_gpu(value: object) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _on_cpu(value: object) -> object:
    return torch.device("cpu") if _is_gpu(value) else value


@contextmanager
def absent_gpu(device: Hardware) -> Iterator[RecordingDriver]:
    """Within it, `torch.cuda` and Triton's driver answer for `device`; launches land in the driver."""
    driver = RecordingDriver(device)
    # Tensors without memory import it, and it must not remember what is replaced here.
    importlib.import_module("torch._dynamo")
    with ExitStack() as stack:
        # Set as it was, since asking Triton to do so looks for a GPU.
        stack.enter_context(replaced(triton.runtime.driver, _active=driver))
        stack.enter_context(replaced(torch.cuda, **_torch_cuda(device)))
        stack.enter_context(replaced(torch.version, **_torch_version(device)))
        stack.enter_context(replaced(Autotuner, do_bench=property(lambda _tuner: _bench)))
        methods = {"data_ptr": lambda tensor: driver.address(tensor), "device": _pretended_device()}
        stack.enter_context(replaced(fake_tensor.FakeTensor, **methods))
        yield driver


@contextmanager
def without_values() -> Iterator[None]:
    """Within it, tensors have shapes and no memory; a shape error is not logged by torch."""
    logger = logging.getLogger(fake_tensor.__name__)
    fakes = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
    with replaced(logger, disabled=True), replaced(torch.nn.Module, _apply=converted), fakes:
        yield


def converted(
    module: torch.nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True
) -> object:
    """What `to`, `half` and `double` do to a module, by new parameters: torch cannot change a fake one in its place."""
    for child in module.children() if recurse else ():
        child._apply(function)
    for key, tensor in module._parameters.items():
        if tensor is not None:
            module._parameters[key] = torch.nn.Parameter(function(tensor), tensor.requires_grad)
    for key, tensor in module._buffers.items():
        if tensor is not None:
            module._buffers[key] = function(tensor)
    return module


def _bench(call: Callable[[], object], **_options: object) -> list[float]:
    """Every configuration is built and takes equally long; the first that fits is kept."""
    call()
    return [1.0, 1.0, 1.0]


def _pretended_device() -> property:
    """Fake tensors keep their device in Python, where a function mode does not see the question."""
    own: Callable[[object], torch.device] = fake_tensor.FakeTensor.device.fget

    def device(tensor: object) -> torch.device:
        asked_by_candidate = isinstance(_get_current_function_mode(), CudaPretence)
        return GPU if asked_by_candidate else own(tensor)

    return property(device)


def _torch_cuda(device: Hardware) -> dict[str, object]:
    major, minor = device.capability
    properties = SimpleNamespace(
        name=device.device,
        major=major,
        minor=minor,
        multi_processor_count=device.multiprocessors,
        max_threads_per_multi_processor=device.warps * device.warp,
        max_threads_per_block=device.threads_block,
        regs_per_multiprocessor=device.registers,
        shared_memory_per_multiprocessor=device.shared_bytes,
        shared_memory_per_block_optin=device.shared_bytes_block,
        L2_cache_size=device.cache_bytes,
        warp_size=device.warp,
        gcnArchName=device.arch,
    )
    return {
        "is_available": lambda: True,
        "device_of": lambda _tensor=None: nullcontext(),
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda _device=None: properties,
        "get_device_capability": lambda _device=None: (major, minor),
        "get_device_name": lambda _device=None: device.device,
        "current_stream": lambda _device=None: SimpleNamespace(cuda_stream=0),
        "synchronize": lambda _device=None: None,
        "set_device": lambda _device: None,
        "device": nullcontext,
        "_lazy_init": _refuse,
        **dict.fromkeys(("Stream", "Event"), _Refused),
    }


def _torch_version(device: Hardware) -> dict[str, object]:
    """What torch says that it was built for: host code asks it whose GPU is here."""
    return {"cuda": None, "hip": torch.version.hip or ROCM} if device.kind == "hip" else {}


class _Refused:
    """A class that annotations may name, as `torch.cuda.Stream | None`, and of which there is nothing."""

    def __init__(self, *_arguments: object, **_named: object) -> None:
        _refuse()


def _refuse(*_arguments: object, **_named: object) -> NoReturn:
    raise RuntimeError("there is no GPU in this process")
