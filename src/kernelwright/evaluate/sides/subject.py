"""What is profiled: one call of a candidate on inputs of the right shapes, in a child, without anybody's clock.

Decides the inputs: drawn here, by shape and domain, from a seed that is no secret, since nothing is judged. Three kinds:
a module with host code of its own, a shared object, and device code that our own launcher runs.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from kernelwright.evaluate.triton.model import construct, load_parameters
from kernelwright.evaluate.triton.module import entry_of, load_module, private_path
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

if TYPE_CHECKING:
    from kernelwright.evaluate.sandbox.wire import Message

Call = Callable[[], object]
SEED = 7
WARM_CALLS = 2
"""Calls before the one that is profiled: compilers, caches and workspaces belong to the first."""
LIBRARY, BINARY = "kernel.so", "module{}.cubin"
"""Names under which binaries lie in the current directory."""


def subject(order: "Message") -> Call:
    """The call to profile.

    Args:
        order: `workload`, `device`, and by `kind`: `module` (`candidate`, `init`), `library` (`entry`,
            `workspace_bytes`; the file `kernel.so`), `program` (`plan`, `modules`; the files `module0.cubin` …).

    Raises:
        whatever the candidate's own code raises.
    """
    torch.manual_seed(SEED)
    workload, device = Workload.model_validate(order["workload"]), str(order.get("device", "cuda"))
    inputs = [draw(t, device) for t in workload.tensors]
    parameters = [draw(p, device) for p in workload.parameters]
    kinds = {"module": _module, "library": _library, "program": _program}
    return kinds[str(order["kind"])](order, workload, inputs, parameters)


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


def _module(order: "Message", workload: Workload, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    candidate = Candidate.model_validate(order["candidate"])
    task = load_module(private_path("task"), str(order["init"]))
    entry = entry_of(load_module(private_path("kernel"), candidate.source, candidate.defines), candidate)
    model = construct(entry, task)
    load_parameters(model, {p.name: t for p, t in zip(workload.parameters, parameters, strict=True)})
    model = model.to(str(order.get("device", "cuda")))
    tensors = iter(inputs)
    arguments = [i.value if isinstance(i, Scalar) else next(tensors) for i in workload.inputs]

    def call() -> object:
        with torch.no_grad():
            return model(*arguments)

    return call


def _library(order: "Message", workload: Workload, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    function = getattr(ctypes.CDLL(str(Path(LIBRARY).resolve())), str(order["entry"]))
    held = [*inputs, *parameters, *_outputs(workload)]
    size = int(order.get("workspace_bytes", 0))
    if size:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in held]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call(keep: object = held) -> object:
        return function(*pointers, stream)

    return call


def _program(order: "Message", workload: Workload, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    # The driver's bindings are there where a GPU is.
    from cuda.bindings import driver  # noqa: PLC0415

    from kernelwright.evaluate.sandbox.cuda_arena import check  # noqa: PLC0415
    from kernelwright.evaluate.sides.launch_plan import bind  # noqa: PLC0415

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    images = [Path(BINARY.format(i)).read_bytes() for i in range(int(order["modules"]))]
    modules = [check(driver.cuModuleLoadData(image)) for image in images]
    outputs = _outputs(workload)
    plan = LaunchPlan.model_validate(order["plan"])
    bound = bind(plan, modules, [o.nbytes for o in workload.outputs])
    held = {"input": inputs, "parameter": parameters, "output": outputs}
    enqueue = bound.call({kind: [t.data_ptr() for t in tensors] for kind, tensors in held.items()})

    def call(keep: object = held) -> object:
        return enqueue(torch.cuda.current_stream().cuda_stream)

    return call


def _outputs(workload: Workload) -> list[torch.Tensor]:
    return [torch.empty(o.shape, dtype=getattr(torch, o.dtype), device="cuda") for o in workload.outputs]
