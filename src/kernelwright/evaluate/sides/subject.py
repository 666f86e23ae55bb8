"""What is profiled: one call of a candidate on inputs of the right shapes, in a child, without anybody's clock.

The inputs are drawn here, by shape and domain, from a seed that is not secret, because nothing is judged. There are
three kinds of candidates: a module with host code of its own, a shared object, and device code that our own launcher
runs.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.messages.tools import LibrarySubject, ModuleSubject, ProgramSubject
from kernelwright.evaluate.triton.model import construct, load_parameters
from kernelwright.evaluate.triton.module import entry_of, load_module, private_path
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

Call = Callable[[], object]
SEED = 7
WARM_CALLS = 2
"""Calls before the one that is profiled: compilers, caches and workspaces belong to the first."""
LIBRARY, BINARY = "kernel.so", "module{}.cubin"
"""Names under which binaries lie in the current directory."""


def subject(what: ModuleSubject | LibrarySubject | ProgramSubject) -> Call:
    """The call to profile; the binaries of a library (`kernel.so`) or program (`module0.cubin` …) lie beside it.

    Raises:
        whatever the candidate's own code raises.
    """
    torch.manual_seed(SEED)
    device = what.device if isinstance(what, ModuleSubject) else "cuda"
    inputs = [draw(t, device) for t in what.workload.tensors]
    parameters = [draw(p, device) for p in what.workload.parameters]
    if isinstance(what, ModuleSubject):
        return _module(what, inputs, parameters)
    if isinstance(what, LibrarySubject):
        return _library(what, inputs, parameters)
    return _program(what, inputs, parameters)


def draw(spec: TensorSpec, device: str) -> torch.Tensor:
    """Values that the domain admits."""
    dtype = getattr(torch, spec.dtype)
    if spec.domain is Domain.INDEX or not (spec.floating or spec.dtype == "bool"):
        return torch.randint(spec.bound or 2, spec.shape, dtype=dtype, device=device)
    if spec.domain is Domain.MASK or spec.dtype == "bool":
        return torch.randint(2, spec.shape, device=device).to(dtype)
    if spec.domain is Domain.PROBABILITY:
        return torch.rand(spec.shape, device=device).softmax(-1).to(dtype)
    if spec.domain is Domain.NON_NEGATIVE:
        return torch.rand(spec.shape, device=device).to(dtype)
    return torch.randn(spec.shape, device=device).to(dtype)


def _module(what: ModuleSubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    candidate, workload = what.candidate, what.workload
    task = load_module(private_path("task"), what.init)
    entry = entry_of(load_module(private_path("kernel"), candidate.source, candidate.defines), candidate)
    model = construct(entry, task)
    load_parameters(model, {p.name: t for p, t in zip(workload.parameters, parameters, strict=True)})
    model = model.to(what.device)
    tensors = iter(inputs)
    arguments = [i.value if isinstance(i, Scalar) else next(tensors) for i in workload.inputs]

    def call() -> object:
        with torch.no_grad():
            return model(*arguments)

    return call


def _library(what: LibrarySubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    function = getattr(ctypes.CDLL(str(Path(LIBRARY).resolve())), what.entry)
    held = [*inputs, *parameters, *_outputs(what.workload)]
    if what.workspace_bytes:
        held.append(torch.empty(what.workspace_bytes, dtype=torch.uint8, device="cuda"))
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in held]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call(keep: object = held) -> object:
        return function(*pointers, stream)

    return call


def _program(what: ProgramSubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    # The driver's bindings are there where a GPU is.
    from cuda.bindings import driver  # noqa: PLC0415

    from kernelwright.evaluate.sandbox.cuda_arena import check  # noqa: PLC0415
    from kernelwright.evaluate.sides.launch_plan import bind  # noqa: PLC0415

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    images = [Path(BINARY.format(i)).read_bytes() for i in range(what.modules)]
    modules = [check(driver.cuModuleLoadData(image)) for image in images]
    outputs = _outputs(what.workload)
    bound = bind(what.plan, modules, [o.nbytes for o in what.workload.outputs])
    held = {"input": inputs, "parameter": parameters, "output": outputs}
    enqueue = bound.call({kind: [t.data_ptr() for t in tensors] for kind, tensors in held.items()})

    def call(keep: object = held) -> object:
        return enqueue(torch.cuda.current_stream().cuda_stream)

    return call


def _outputs(workload: Workload) -> list[torch.Tensor]:
    return [torch.empty(o.shape, dtype=getattr(torch, o.dtype), device="cuda") for o in workload.outputs]
