"""A module as torch.export sees it: the one export of admission, of planning and of live modules.

It is traced as it is called: without gradients, so that a region without them is no region of its own, and operation by
operation, where PyTorch would take a whole layer at once. Results are flat: an output of the graph is one tensor, in the order
of `calltree.tensors`. What PyTorch logs and prints of a failure, whole graphs and tracebacks, is kept off the terminal.
"""

import functools
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO

import torch
from torch._decomp import core_aten_decompositions
from torch._subclasses import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright import calltree

LOST = "fake tensor in the exported program constant"
"""What torch.export says of values that autograd keeps for a derivative."""
Called = Callable[[Sequence[object]], object]
"""Calls a module with the leaves of its arguments."""


def traced(
    model: torch.nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    called: Called | None = None,
    *,
    symbolic: bool = False,
) -> torch.export.ExportedProgram:
    """Export a module for a call; with `called`, for the leaves of one; `symbolic`: with every size free that can be.

    Raises:
        Exception: whatever torch.export says of data-dependent control flow and the like, and whatever the module raises.
    """
    sizes = tuple(map(_free, args)) if symbolic else None
    shapes = (sizes,) if symbolic and called is not None else sizes  # leaves are one parameter, that takes all
    with _flattened(model, called), _quiet(), _plain_operations():
        try:
            with torch.no_grad():
                exported = torch.export.export(model, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False)
            if _asks_for_gradients(exported):  # a gradient within forward: its region cannot be taken apart otherwise
                with torch.enable_grad():
                    exported = torch.export.export(
                        model, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False
                    )
        except RuntimeError as error:
            if LOST not in str(error) or kwargs or symbolic:
                raise
            return _below_gradients(model, args)
        lost = not (kwargs or symbolic) and any(map(_is_of_the_trace, exported.constants.values()))
        return _below_gradients(model, args) if lost else exported


def _is_of_the_trace(constant: object) -> bool:
    """Whether what is taken for a constant is a value within a derivative, which the trace has lost sight of."""
    wrapped = isinstance(constant, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(constant)
    return wrapped or isinstance(constant, FakeTensor)


def _below_gradients(model: torch.nn.Module, args: Sequence[object]) -> torch.export.ExportedProgram:
    """Derivatives within forward as operations of their own, by a trace below autograd, which export does not see through."""
    table = {op: how for op, how in core_aten_decompositions().items() if "backward" in str(op)}
    with torch.no_grad():
        below = make_fx(lambda *leaves: model(*leaves), table, tracing_mode="fake", _allow_non_fake_inputs=True)(*args)
        _give_own_names(below, model)
        return torch.export.export(below, tuple(args), strict=False)


def _give_own_names(below: torch.fx.GraphModule, model: torch.nn.Module) -> None:
    """Parameters and buffers lie in the traced module where they lie in its own."""
    own = {id(tensor): name for name, tensor in (*model.named_buffers(), *model.named_parameters())}
    for node in below.graph.find_nodes(op="get_attr"):
        tensor = getattr(below, node.target)
        path, _, last = own.get(id(tensor), "").rpartition(".")
        if not last:
            continue
        if path and not any(name == path for name, _ in below.named_modules()):
            below.add_submodule(path, torch.nn.Module())
        place = below.get_submodule(path)
        if isinstance(tensor, torch.nn.Parameter):
            place.register_parameter(last, tensor)
        else:
            place.register_buffer(last, tensor)
        node.target = own[id(tensor)]
    below.delete_all_unused_submodules()
    below.recompile()


def _free(value: object) -> dict[int, object] | None:
    """Of a tensor, what leaves its sizes to the export; numbers are constants."""
    auto = torch.export.Dim.AUTO
    return dict.fromkeys(range(value.dim()), auto) if isinstance(value, torch.Tensor) else None


def _asks_for_gradients(exported: torch.export.ExportedProgram) -> bool:
    region = torch.ops.higher_order.wrap_with_set_grad_enabled
    return any(node.target is region and node.args[0] is True for node in exported.graph.nodes)


def functionalised(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program without regions of its own (autocast, gradients) and without writes; its operations stay whole but views."""
    with _quiet(), torch.no_grad():
        return exported.run_decompositions({})


@contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"), redirect_stderr(StringIO()):
            yield
    finally:
        logging.disable(before)


@contextmanager
def _plain_operations() -> Iterator[None]:
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def _flattened(model: torch.nn.Module, called: Called | None) -> Iterator[None]:
    """For a while its forward returns plain tensors, and with `called` takes leaves."""
    own, forward = "forward" in model.__dict__, model.forward

    @functools.wraps(forward)
    def flat(*args: object, **kwargs: object) -> tuple[torch.Tensor, ...]:
        return calltree.tensors(forward(*args, **kwargs))

    def of_leaves(*leaves: object) -> tuple[torch.Tensor, ...]:
        assert called is not None
        model.forward = forward
        try:
            return calltree.tensors(called(leaves))
        finally:
            model.forward = of_leaves

    model.forward = flat if called is None else of_leaves
    try:
        yield
    finally:
        del model.forward
        if own:
            model.forward = forward
