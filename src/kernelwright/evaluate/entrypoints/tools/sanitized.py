"""A program to be run under compute-sanitizer: one candidate, called on inputs of its own. `python -m` this, beside JOB.

The secret inputs of the session stay where they are: an access out of bounds or a race does not wait for them. Runs in a
confined process, like everything untrusted.
"""

import sys
from pathlib import Path

import torch
from cuda.bindings import driver

from kernelwright.evaluate.entrypoints.candidate.launch_plan import bind
from kernelwright.evaluate.entrypoints.tools.profile_target import draw
from kernelwright.evaluate.sandbox.cuda_arena import check
from kernelwright.evaluate.sandbox.messages.tools import ModelJob, PlanJob, SanitizerJob
from kernelwright.evaluate.triton.binding import loaded
from kernelwright.evaluate.triton.model import call, flatten, model_of
from kernelwright.records.tensor import Scalar

JOB = "job.json"
DONE = "the candidate has been called"
"""Printed last: without it nothing was looked at."""
CALLS = 2


def call_plan(job: PlanJob) -> None:
    """Launch a plan of tier one."""
    workload = job.workload
    modules = [check(driver.cuModuleLoadData(m)) for m in job.modules]
    specs = [draw(t, "cuda") for t in workload.tensors], [draw(p, "cuda") for p in workload.parameters]
    outputs = [torch.empty(o.shape, dtype=getattr(torch, o.dtype), device="cuda") for o in workload.outputs]
    bound = bind(job.plan, modules, [o.nbytes for o in workload.outputs])
    places = dict(zip(("input", "parameter"), ([t.data_ptr() for t in ts] for ts in specs), strict=True))
    enqueue = bound.call({**places, "output": [o.data_ptr() for o in outputs]})
    for _ in range(CALLS):
        enqueue(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()


def call_model(job: ModelJob) -> None:
    """Call a module of tier two."""
    candidate, workload = job.candidate, job.workload
    model = model_of(candidate, job.init).cuda()
    loaded(model, {p.name: draw(p, "cuda") for p in workload.parameters}, strict=False)
    arguments = [i.value if isinstance(i, Scalar) else draw(i, "cuda") for i in workload.inputs]
    with torch.no_grad():
        for _ in range(CALLS):
            flatten(call(model, workload, arguments))
            torch.cuda.synchronize()


def main() -> None:
    """Do what the job says."""
    job = SanitizerJob.model_validate_json(Path(JOB).read_text()).program
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    if isinstance(job, PlanJob):
        call_plan(job)
    else:
        call_model(job)
    sys.stdout.write(f"{DONE}\n")


if __name__ == "__main__":
    main()
