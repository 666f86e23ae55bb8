"""A task's file as it runs in the reference's process: its module, its model, and values in double precision."""

import ast
import sys
import types

import torch

from kernelwright.evaluate.triton.model import Function


def double(value: object) -> object:
    """A floating or complex tensor in double precision; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.dtype.itemsize == 1:
        return value
    if value.is_complex():
        return value.to(torch.complex128)
    return value.double() if value.is_floating_point() else value


def executed(source: str) -> types.ModuleType:
    """The file as a module; raises whatever its code raises."""
    task = types.ModuleType("task")
    sys.modules[task.__name__] = task  # torch.compile imports the module of a function that it meets within a decorator
    exec(compile(source, "<task>", "exec"), task.__dict__)  # noqa: S102 (a confined child)
    return task


def init_arguments(task: types.ModuleType) -> list[object]:
    """What the model is constructed with."""
    return list(task.get_init_inputs()) if hasattr(task, "get_init_inputs") else []


def module_of(model: object, arguments: list[object]) -> torch.nn.Module:
    """The task's `Model`: a class, a module that is there already, or a plain function.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(model, torch.nn.Module):
        return model
    found = model(*arguments) if isinstance(model, type) else Function(model) if callable(model) else model
    if not isinstance(found, torch.nn.Module):
        raise TypeError("Model is neither a torch.nn.Module nor a function")
    return found


def literal(arguments: list[object]) -> str | None:
    """The constructor's arguments as Python text; None where they have no literal."""
    text = repr(arguments)
    try:
        return text if ast.literal_eval(text) == arguments else None
    except (ValueError, SyntaxError):
        return None
