"""What ncu starts: `python -m kernelwright.evaluate.entrypoints.tools.profile_target ORDER.json LOG`.

It calls a candidate a few times and marks the last call for the profiler. It runs untrusted code, in the jail that ncu
was started in. An order to `trace` is traced here, without ncu, into LOG.

Inputs are drawn here, by shape and domain, from a seed that is not secret, because nothing is judged. There are three
kinds of candidates: a module with host code of its own, a shared object, and device code that our own launcher runs.
"""

import ctypes
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from kernelwright.evaluate.sandbox.messages import tools as messages
from kernelwright.evaluate.triton.binding import loaded
from kernelwright.evaluate.triton.model import call as called
from kernelwright.evaluate.triton.model import model_of
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

Call = Callable[[], object]
SEED = 7
WARM_CALLS = 2
"""Calls before the one that is profiled: compilers, caches and workspaces belong to the first."""
LIBRARY, BINARY = "kernel.so", "module{}.cubin"
"""Names under which binaries lie in the current directory."""

TRACE = "trace.json"
TRACED_CALLS = 3
MOST_KINDS = 300
LONGEST_NAME = 1000
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def draw(spec: TensorSpec, device: str) -> torch.Tensor:
    """Values that the domain admits, of torch's generator."""
    dtype = getattr(torch, spec.dtype)
    if not spec.floating:
        return torch.randint(spec.bound or 2, spec.shape, dtype=dtype, device=device)
    if spec.domain in (Domain.MASK, Domain.LABEL):
        return torch.randint(spec.bound or 2, spec.shape, device=device).to(dtype)
    if spec.domain is Domain.PROBABILITY:
        return torch.rand(spec.shape, device=device).softmax(-1).to(dtype)
    if spec.domain is Domain.NON_NEGATIVE:
        return torch.rand(spec.shape, device=device).to(dtype)
    return torch.randn(spec.shape, device=device).to(dtype)


def subject(what: messages.ModuleSubject | messages.LibrarySubject | messages.ProgramSubject) -> Call:
    """The call to profile; the binaries of a library (`kernel.so`) or program (`module0.cubin` …) lie beside it.

    Raises:
        whatever the candidate's own code raises.
    """
    torch.manual_seed(SEED)
    device = what.device if isinstance(what, messages.ModuleSubject) else "cuda"
    inputs = [draw(t, device) for t in what.workload.tensors]
    parameters = [draw(p, device) for p in what.workload.parameters]
    if isinstance(what, messages.ModuleSubject):
        return _module(what, inputs, parameters)
    if isinstance(what, messages.LibrarySubject):
        return _library(what, inputs, parameters)
    return _program(what, inputs, parameters)


def _module(what: messages.ModuleSubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    candidate, workload = what.candidate, what.workload
    model = model_of(candidate, what.init)
    loaded(model, {p.name: t for p, t in zip(workload.parameters, parameters, strict=True)}, strict=False)
    model = model.to(what.device)
    tensors = iter(inputs)
    arguments = [i.value if isinstance(i, Scalar) else next(tensors) for i in workload.inputs]

    def call() -> object:
        with torch.no_grad():
            return called(model, workload, arguments)

    return call


def _library(what: messages.LibrarySubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    function = getattr(ctypes.CDLL(str(Path(LIBRARY).resolve())), what.entry)
    held = [*inputs, *parameters, *_outputs(what.workload)]
    if what.workspace_bytes:
        held.append(torch.empty(what.workspace_bytes, dtype=torch.uint8, device="cuda"))
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in held]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call(keep: object = held) -> object:
        return function(*pointers, stream)

    return call


def _program(what: messages.ProgramSubject, inputs: list[torch.Tensor], parameters: list[torch.Tensor]) -> Call:
    # The driver's bindings are there where a GPU is.
    from cuda.bindings import driver  # noqa: PLC0415

    from kernelwright.evaluate.entrypoints.candidate.launch_plan import bind  # noqa: PLC0415
    from kernelwright.evaluate.sandbox.cuda_arena import check  # noqa: PLC0415

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


def traced(call: Call) -> messages.Traced:
    """Activities of a few calls, after as many as warm everything up.

    Raises:
        RuntimeError: nothing was recorded.
    """
    for _ in range(WARM_CALLS):
        call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(TRACED_CALLS):
            call()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(TRACE)
    activities = summed(json.loads(Path(TRACE).read_text(errors="replace"))["traceEvents"])
    if not activities:
        raise RuntimeError("the profiler recorded no activity of the device")
    return messages.Traced(calls=TRACED_CALLS, activities=activities)


def summed(events: Iterable[object]) -> list[messages.Activity]:
    """Device activities of a Chrome trace, equal launches together: a message has room for few hundred."""
    found: dict[messages.Activity, tuple[float, int]] = {}
    for event in events:
        if isinstance(event, dict) and event.get("cat") in KINDS:
            alone = _activity(event)
            us, count = found.get(alone, (0.0, 0))
            found[alone] = us + float(event.get("dur", 0.0)), count + 1
    longest = sorted(found.items(), key=lambda item: -item[1][0])[:MOST_KINDS]
    return [alone.model_copy(update={"us": us, "count": count}) for alone, (us, count) in longest]


def _activity(event: dict[str, object]) -> messages.Activity:
    """What is the same of equal launches, without their time."""
    told = event.get("args")
    told = told if isinstance(told, dict) else {}
    return messages.Activity(
        name=str(event.get("name", ""))[:LONGEST_NAME],
        us=0.0,
        count=1,
        grid=told.get("grid"),
        block=told.get("block"),
        registers=told.get("registers per thread"),
        shared_bytes=told.get("shared memory"),
    )


def main() -> None:
    """Warm up, then one call between the profiler's marks; or a trace."""
    order = messages.ProfileOrder.model_validate_json(Path(sys.argv[1]).read_text())
    call = subject(order.subject)
    if order.trace:
        Path(sys.argv[2]).write_text(traced(call).model_dump_json())
        return
    for _ in range(WARM_CALLS):
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
