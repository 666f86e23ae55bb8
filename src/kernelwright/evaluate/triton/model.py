"""An instance of the candidate's class with the task's parameters in it.

Constructor arguments come from the task's `get_init_inputs`. Parameters go in by name, and by order where the names
differ. Tensors may be real or fake, on any device.
"""

from collections.abc import Mapping, Sequence
from types import ModuleType

import torch

from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Scalar, TensorSpec


def construct(entry: type, task: ModuleType) -> torch.nn.Module:
    """`entry(*get_init_inputs())`, in eval mode.

    Raises:
        BuildError: the class is no torch module.
    """
    arguments = task.get_init_inputs() if hasattr(task, "get_init_inputs") else []
    model = entry(**arguments) if isinstance(arguments, dict) else entry(*arguments)
    if not isinstance(model, torch.nn.Module):
        raise BuildError(f"{entry.__name__} is not a torch.nn.Module")
    return model.eval()


def load_parameters(model: torch.nn.Module, parameters: Mapping[str, torch.Tensor]) -> None:
    """Copy `parameters`, which are in state_dict order, into the model.

    Raises:
        BuildError: neither names nor, in order, shapes agree with the model's.
    """
    own = model.state_dict()
    if own.keys() != parameters.keys():  # as sets: names that agree may come in any order
        shapes = [tuple(t.shape) for t in own.values()]
        wanted = [tuple(t.shape) for t in parameters.values()]
        if shapes != wanted:
            raise BuildError(
                "parameters do not match the reference's: "
                f"expected {_listing(parameters)}, got {_listing(own)}; "
                "keep its names, or its order and shapes"
            )
        parameters = dict(zip(own, parameters.values(), strict=True))
    model.load_state_dict(parameters, strict=True)


def parameters_of(model: torch.nn.Module, workload: Workload) -> list[torch.Tensor]:
    """The model's own tensors that hold the workload's parameters, in the workload's order; to be called when loaded."""
    own = model.state_dict()
    names = [p.name for p in workload.parameters]
    return [own[name] for name in names] if own.keys() == set(names) else list(own.values())


def _listing(tensors: Mapping[str, torch.Tensor]) -> str:
    return ", ".join(f"{name}{list(t.shape)}" for name, t in tensors.items()) or "none"


def arguments_of(workload: Workload) -> list[torch.Tensor | bool | int | float]:
    """Uninitialised tensors of the workload's inputs, and its scalars, in order."""
    return [i.value if isinstance(i, Scalar) else empty(i) for i in workload.inputs]


def empty(spec: TensorSpec) -> torch.Tensor:
    """An uninitialised tensor of that spec; costs memory only where it is written."""
    return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))


def plain(result: object) -> tuple[torch.Tensor, ...]:
    """`flatten`, and every tensor is one already: none that computes only when it is looked at.

    Raises:
        TypeError: one is of another class.
    """
    tensors = flatten(result)
    for tensor in tensors:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"the model returned a {type(tensor).__name__}, expected plain tensors")
    return tensors


def flatten(result: object) -> tuple[torch.Tensor, ...]:
    """The tensors that a model returned, in order.

    Raises:
        TypeError: it returned something else as well.
    """
    if isinstance(result, torch.Tensor):
        return (result,)
    if isinstance(result, Sequence) and not isinstance(result, str):
        return tuple(tensor for part in result for tensor in flatten(part))
    raise TypeError(f"the model returned {type(result).__name__}, expected tensors")
