"""A program to be run under compute-sanitizer: one candidate, called on inputs of its own. `python -m` this, beside JOB.

The secret inputs of the session stay where they are: an access out of bounds or a race does not wait for them. Runs in a
confined process, like everything foreign.
"""

import base64
import json
import sys
from pathlib import Path

import torch
from cuda.bindings import driver

from kernelwright.evaluate.sandbox.cuda_arena import check
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides.launch_plan import bind
from kernelwright.evaluate.triton.model import construct, flatten, load_parameters
from kernelwright.evaluate.triton.module import entry_of, load_module, private_path
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain, Scalar, TensorSpec

JOB = "job.json"
DONE = "the candidate has been called"
"""Printed last: without it nothing was looked at."""
CALLS = 2


def drawn(spec: TensorSpec) -> torch.Tensor:
    """Values of the tensor's domain, on the device."""
    dtype = getattr(torch, spec.dtype)
    if spec.domain is Domain.MASK or (spec.domain is Domain.LABEL and spec.floating):
        return torch.randint(0, 2, spec.shape, device="cuda").to(dtype)
    if not spec.floating:
        return torch.randint(0, spec.bound or 2, spec.shape, device="cuda").to(dtype)
    values = torch.randn(spec.shape, device="cuda")
    if spec.domain is Domain.PROBABILITY:
        return torch.softmax(values, -1).to(dtype)
    return (values if spec.domain is Domain.REAL else values.abs()).to(dtype)


def call_plan(job: Message, workload: Workload) -> None:
    """Launch a plan of tier one."""
    modules = [check(driver.cuModuleLoadData(base64.b64decode(m))) for m in job["modules"]]
    specs = [drawn(t) for t in workload.tensors], [drawn(p) for p in workload.parameters]
    outputs = [torch.empty(o.shape, dtype=getattr(torch, o.dtype), device="cuda") for o in workload.outputs]
    bound = bind(LaunchPlan.model_validate(job["plan"]), modules, [o.nbytes for o in workload.outputs])
    places = dict(zip(("input", "parameter"), ([t.data_ptr() for t in ts] for ts in specs), strict=True))
    enqueue = bound.call({**places, "output": [o.data_ptr() for o in outputs]})
    for _ in range(CALLS):
        enqueue(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()


def call_model(job: Message, workload: Workload) -> None:
    """Call a module of tier two."""
    candidate = Candidate.model_validate(job["candidate"])
    task = load_module(private_path("task"), str(job["init"]))
    entry = entry_of(load_module(private_path("kernel"), candidate.source, candidate.defines), candidate)
    model = construct(entry, task).cuda()
    load_parameters(model, {p.name: drawn(p) for p in workload.parameters})
    arguments = [i.value if isinstance(i, Scalar) else drawn(i) for i in workload.inputs]
    with torch.no_grad():
        for _ in range(CALLS):
            flatten(model(*arguments))
            torch.cuda.synchronize()


def main() -> None:
    """Do what the job says."""
    job = json.loads(Path(JOB).read_text())
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    workload = Workload.model_validate(job["workload"])
    (call_plan if "plan" in job else call_model)(job, workload)
    sys.stdout.write(f"{DONE}\n")


if __name__ == "__main__":
    main()
