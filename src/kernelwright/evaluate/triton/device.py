"""The GPU that is not here, as host code and Triton see it.

Decides: what a candidate's host code may ask of `torch.cuda`, and what Triton asks of its driver; both
answer with the facts of the architecture's representative device. Nothing is run: a launch is
recorded. Not covered: streams, events, graphs and memory statistics raise as on any machine without a GPU.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import NamedTuple

import torch
import triton
from torch._subclasses import fake_tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner

from kernelwright.evaluate.triton.foreign import Foreign
from kernelwright.knowledge.hardware import WARP, Hardware

GPU = torch.device("cuda", 0)
MAX_THREADS = 1024
"""Most threads of a block."""


class Launch(NamedTuple):
    """One kernel launch that host code made."""

    name: str
    grid: tuple[int, int, int]
    metadata: Foreign
    """Triton's own: warps, stages, shared bytes and whatever a stage added."""
    cubin: bytes


class RecordingDriver:
    """Triton's driver for an absent device: it compiles for it, refuses what does not fit, and records."""

    def __init__(self, device: Hardware) -> None:
        self.launches: list[Launch] = []
        self.utils = self
        self._device = device

    def get_current_target(self) -> GPUTarget:
        """What Triton compiles for."""
        return GPUTarget("cuda", self._device.number, WARP)

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
            "warpSize": WARP,
        }

    def load_binary(self, _name: str, cubin: bytes, _shared: int, _device: int) -> tuple[None, bytes, int, int, int]:
        """Pretend to load: the cubin itself is the function that the launcher gets."""
        return None, cubin, 0, 0, MAX_THREADS

    def launcher_cls(self, _source: object, metadata: Foreign) -> Callable[..., None]:
        """A launcher that records its grid instead of running."""

        def launch(x: int, y: int, z: int, _stream: int, cubin: bytes, *_rest: object) -> None:
            self.launches.append(Launch(metadata.name, (int(x), int(y), int(z)), metadata, cubin))

        return launch


class CudaPretence(TorchFunctionMode):  # type: ignore[misc]
    """CPU tensors that say they are on the GPU, so that host code which checks goes on as it would there."""

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
        return func(*(_on_cpu(a) for a in args), **named)


_ANSWERS: dict[object, object] = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.device.__get__: GPU,
    torch.Tensor.get_device: 0,
}


def _on_cpu(value: object) -> object:
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")) else value


@contextmanager
def absent_gpu(device: Hardware) -> Iterator[RecordingDriver]:
    """Within it, `torch.cuda` and Triton's driver answer for `device`; launches land in the driver."""
    driver = RecordingDriver(device)
    triton.runtime.driver.set_active(driver)
    with ExitStack() as stack:
        stack.enter_context(replaced(torch.cuda, **_torch_cuda(device)))
        stack.enter_context(replaced(Autotuner, do_bench=property(lambda _tuner: _bench)))
        stack.enter_context(replaced(fake_tensor.FakeTensor, data_ptr=_fake_address, device=_pretended_device()))
        yield driver


@contextmanager
def without_values() -> Iterator[None]:
    """Within it, tensors have shapes and no memory; a shape error is not logged by torch."""
    logger = logging.getLogger(fake_tensor.__name__)
    with replaced(logger, disabled=True), fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        yield


@contextmanager
def replaced(owner: object, **attributes: object) -> Iterator[None]:
    """Set attributes of `owner` for a while."""
    before = {name: getattr(owner, name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def _bench(call: Callable[[], object], **_options: object) -> list[float]:
    """Every configuration is built and takes equally long; the first that fits is kept."""
    call()
    return [1.0, 1.0, 1.0]


def _fake_address(tensor: torch.Tensor) -> int:
    """Allocations of the GPU are aligned well beyond 16 bytes; views keep their offset."""
    return int(tensor.storage_offset() * tensor.element_size())


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
        max_threads_per_multi_processor=device.warps * WARP,
        max_threads_per_block=MAX_THREADS,
        regs_per_multiprocessor=device.registers,
        shared_memory_per_multiprocessor=device.shared_bytes,
        shared_memory_per_block_optin=device.shared_bytes_block,
        L2_cache_size=device.cache_bytes,
        warp_size=WARP,
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
        "device": lambda _device=None: nullcontext(),
    }
