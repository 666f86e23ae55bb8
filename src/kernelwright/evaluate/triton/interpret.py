"""A Triton candidate run by Triton's interpreter on CPU tensors, at reduced shapes.

The interpreter is repaired first, and what stays unsupported is reported. Nothing is compared here: outputs go to the
grader. Not seen here: whatever depends on warps, barriers or the order of reductions, and races between programs that
use atomics.
"""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
import triton
from triton.runtime import interpreter

from kernelwright.errors import RefereeError
from kernelwright.evaluate.triton import dot, libdevice
from kernelwright.evaluate.triton.bfloat16 import install_carrier
from kernelwright.evaluate.triton.builder import RepairedBuilder
from kernelwright.evaluate.triton.device import CudaPretence, absent_gpu
from kernelwright.evaluate.triton.fault import Boundary, Fault
from kernelwright.evaluate.triton.foreign import Foreign
from kernelwright.evaluate.triton.model import construct, flatten, load_parameters
from kernelwright.evaluate.triton.module import entry_of, load_module, private_path
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate

Argument: TypeAlias = "torch.Tensor | bool | int | float"


class Arguments(NamedTuple):
    """What the candidate is called with: CPU tensors that it may write to."""

    inputs: Sequence[Argument]
    parameters: Mapping[str, torch.Tensor]
    """In state_dict order."""


def interpret(
    candidate: Candidate, task_source: str, arguments: Arguments, arch: str
) -> tuple[torch.Tensor, ...] | Fault:
    """The candidate's outputs for `arguments`, computed by the interpreter.

    Args:
        candidate: a `triton` candidate with its defines chosen.
        task_source: the task's file, for its `get_init_inputs`, at the reduced shapes.
        arguments: inputs and parameters.
        arch: the device that host code believes it is on.

    Raises:
        RefereeError: Triton was imported without TRITON_INTERPRET=1.
    """
    install()
    task = load_module(private_path("task"), task_source)
    path = private_path("kernel")
    outputs: tuple[torch.Tensor, ...] = ()
    with Boundary(path, {NotImplementedError: "unsupported"}) as boundary, _pretending(arch):
        entry = entry_of(load_module(path, candidate.source, candidate.defines), candidate)
        boundary.default = "run"
        model = construct(entry, task)
        load_parameters(model, arguments.parameters)
        outputs = flatten(model(*arguments.inputs))
    return boundary.fault or outputs


def install() -> None:
    """Repair Triton's interpreter in this process; calling it twice changes nothing.

    Raises:
        RefereeError: Triton was imported without TRITON_INTERPRET=1, so its kernels are not interpreted.
    """
    if not triton.knobs.runtime.interpret:
        raise RefereeError("Triton was imported without TRITON_INTERPRET=1: set it before the process starts")
    builder = interpreter.interpreter_builder
    if isinstance(builder, RepairedBuilder):
        return
    install_carrier()
    libdevice.install()
    builder.__class__ = RepairedBuilder  # the instance is shared: Triton's semantics hold it too
    builder.options = dataclasses.replace(
        builder.options,
        debug=True,  # otherwise device_assert is dropped
        sanitize_overflow=False,  # the device wraps around in silence
        allowed_dot_input_precisions=dot.PRECISIONS,
    )
    execute = interpreter.GridExecutor.__call__

    def call(self: Foreign, *arguments: object, **named: object) -> Foreign:
        RepairedBuilder.guard.enter({**dict(zip(self.arg_names, arguments, strict=False)), **named})
        return execute(self, *arguments, **named)

    interpreter.GridExecutor.__call__ = call


@contextmanager
def _pretending(arch: str) -> Iterator[None]:
    with (
        absent_gpu(hardware(arch)),
        CudaPretence(),
        torch.no_grad(),
        np.errstate(all="ignore"),
        warnings.catch_warnings(action="ignore"),  # of numpy, about the values that the task gave it
    ):
        yield
