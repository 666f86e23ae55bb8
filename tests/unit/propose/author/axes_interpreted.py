"""One task of `axes_cases.py` in Triton over its axes, called at its workloads and at drawn sizes; 0: right, each by a kernel.

Usage: `TRITON_INTERPRET=1 python axes_interpreted.py NAME FOLDER`.
"""

import asyncio
import importlib.util
import sys
from pathlib import Path

import torch
from axes_cases import CASES, drawn_cases, error, over_workloads

from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest

ELEMENTS, DRAWN = 1 << 17, 6


def loaded(source, folder):
    """The module of a source, and what each call of its kernels chose."""
    file = Path(folder) / "over_axes.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("over_axes", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    run, served = made._run, []

    def counted(*tensors):
        served.append(made._choice(*made._sizes(tensors)))
        return run(*tensors)

    made._run = counted
    return made, served


def wrong(made, served, one):
    """Why one call is not as it should be; empty where it is."""
    scope, before = {}, len(served)
    exec(compile(one.task.source.source, "task", "exec"), scope)
    new = made.ModelNew(*scope.get("get_init_inputs", list)())
    new.load_state_dict(one.module.state_dict())
    with torch.no_grad():
        ours = new(*one.inputs)
    wanted = one.reference()[0]
    some = all(tensor.numel() for tensor in one.inputs)
    if (len(served) > before) != some:
        return "the reference answered" if some else "a kernel answered where there is nothing"
    finite = wanted.numel() and wanted.isfinite().all()
    return "wrong" if finite and error(ours, wanted) > 1e-4 else ""


def main(name, folder):
    task, cases = over_workloads(CASES[name], "cuda")
    request = ProposalRequest(number=0, intent="seed")
    (proposal,) = asyncio.run(Author().propose(Brief(task, request, parents=(), feedback=(), seed=0)))
    made, served = loaded(proposal.candidate.source, folder)
    tried = [one for one in (*cases, *drawn_cases(task, DRAWN, "cuda")) if one.inputs[0].numel() <= ELEMENTS]
    told = {str(one.task.source.part.sizes): wrong(made, served, one) for one in tried}
    sys.stdout.write(f"{told}\n")
    return int(any(told.values()) or not served)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
