"""A whole candidate in the process that answers for it, with its inputs in an arena; runs in a process of conftest."""

import os

import torch

from kernelwright.evaluate.entrypoints.candidate.interpreted import InterpretedSide
from kernelwright.evaluate.sandbox.arena import Arena
from kernelwright.evaluate.sandbox.messages.calls import Run
from kernelwright.evaluate.sandbox.messages.candidates import LoadInterpreted
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec


def judged(source, *inputs):
    """Error and log of a call; empty where there is none."""
    arena = Arena([t.nbytes for t in inputs])
    for index, tensor in enumerate(inputs):
        arena.memory(index)[:] = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    specs = tuple(
        TensorSpec(name=f"x{i}", shape=tuple(t.shape), dtype=str(t.dtype).removeprefix("torch."))
        for i, t in enumerate(inputs)
    )
    side = InterpretedSide()
    side.load(
        LoadInterpreted(
            candidate=Candidate(language="triton", source=source),
            workload=Workload(inputs=specs, parameters=(), outputs=()),
            init="def get_init_inputs():\n    return []\n",
            arch="sm_90",
            starts=arena.layout(),
            files=(os.dup(arena.descriptor),),
        )
    )
    ran = side.run(Run(calls=((0,) * len(inputs),)))
    arena.close()
    return getattr(ran, "error", ""), getattr(ran, "log", "")
