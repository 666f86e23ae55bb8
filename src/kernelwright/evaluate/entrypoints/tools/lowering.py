"""What PyTorch's compiler writes for a task, taken as text before anything of it is compiled.

The task's own code is run here, and no candidate's. Its tensors are fake: they have shapes and no memory, so that a task of
gigabytes costs as little as a small one, and a GPU need not be there. Parameters that fakes cannot make lie on the CPU.
Inductor sees the task as one function of its inputs and of the parameters and buffers of its state_dict, in this order.
"""

import inspect
import re
import socket
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import compile_fx, config, graph
from torch._inductor.constant_folding import ConstantFolder
from torch._inductor.fx_passes import joint_graph
from torch._inductor.runtime import triton_helpers
from torch._subclasses import fake_tensor
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright import calltree
from kernelwright.evaluate.entrypoints import numerics, session
from kernelwright.evaluate.entrypoints.reference.task_file import executed, init_arguments, module_of
from kernelwright.evaluate.entrypoints.tools.unguarded import unguarded
from kernelwright.evaluate.sandbox.messages.tools import Lower, Lowered
from kernelwright.evaluate.triton.binding import held
from kernelwright.evaluate.triton.device import absent_gpu, converted
from kernelwright.evaluate.triton.model import flatten, load_module, private_path
from kernelwright.evaluate.triton.untyped import Untyped, replaced
from kernelwright.records.lowering import MOST_CHARACTERS, LoweredKernel, Lowering, Options

Function = Callable[..., tuple[torch.Tensor, ...]]
ONE_PROCESS: Options = {"compile_threads": 1, "fx_graph_cache": False, "force_disable_caches": True}
NO_TRIALS: Options = {"shape_padding": False}
"""Whether a product gains by padding Inductor finds out by timing both."""
DYNAMO_ASKS = ("get_device_properties", "current_device", "device_count")
LAUNCH = ("num_warps", "num_stages")
_KERNEL = re.compile(r"^(\w+) = async_compile\.triton\('\w+', '''\n(.*?)\n''', device_str=", re.DOTALL | re.MULTILINE)


class TextTakenError(Exception):
    """Inductor has written its text, which is all that was wanted of it."""

    def __init__(self, text: str) -> None:
        super().__init__("the text was taken")
        self.text = text


def lower(command: Lower) -> Lowered:
    """The text with what belongs to it; raises whatever the task or the compiler raise."""
    torch.set_num_threads(1)
    numerics.begin(command.numerics)
    settings = _known({**ONE_PROCESS, "cpp.threads": command.threads, **command.options})
    if command.device is None:
        with config.patch(settings):
            text = _text(command.source, "cpu")
            return Lowered(lowering=Lowering(text=_short(text)))
    with absent_gpu(command.device), _no_context(), config.patch({**settings, **_known(NO_TRIALS)}):
        text = _short(_text(command.source, "cuda"))
        helpers = inspect.getsource(triton_helpers)
        return Lowered(lowering=Lowering(text=text, helpers=helpers, kernels=tuple(_kernels(text))))


def _known(options: Options) -> Options:
    """Those that this version of Inductor has."""
    return {name: value for name, value in options.items() if name in config.get_config_copy()}


@contextmanager
def _no_context() -> Iterator[None]:
    """While it lasts, tracing for a GPU asks for none: its generator's state is made up, patterns are traced on the CPU."""
    patterns = joint_graph.lazy_init
    state = {"get_rng_state": lambda *_: torch.zeros(16, dtype=torch.uint8), "set_rng_state": lambda *_: None}
    # Dynamo has its own names for what `absent_gpu` has replaced.
    asked = {name: staticmethod(getattr(torch.cuda, name)) for name in DYNAMO_ASKS}
    with ExitStack() as stack:
        stack.enter_context(replaced(torch.cuda, **state))
        stack.enter_context(replaced(CudaInterface, **asked))
        stack.enter_context(replaced(joint_graph, lazy_init=lambda *_: patterns(torch.device("cpu"))))
        stack.enter_context(replaced(triton_helpers, set_driver_to_gpu=lambda: None))
        # torch 2.11 asks whether there is a GPU, which `absent_gpu` affirms, and begins a context on it.
        stack.enter_context(replaced(fake_tensor, init_gpu_context=lambda _: None))
        stack.enter_context(replaced(joint_graph.UniformValueConstantFolder, _deduce_value=_deduced))
        stack.enter_context(unguarded())
        yield


_DEDUCE = joint_graph.UniformValueConstantFolder._deduce_value


def _deduced(self: ConstantFolder, node: torch.fx.Node) -> Any:  # noqa: ANN401  a constant of any kind
    """What Inductor folds a constant to; one that only a GPU could make stays in the program, where it is one all the same."""
    try:
        return _DEDUCE(self, node)
    except RuntimeError:
        return self.unknown_value


def _short(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"the text has {len(text)} characters, more than {MOST_CHARACTERS}")
    return text


def _text(source: str, device: str) -> str:
    """What Inductor writes for the task on fake tensors of a device.

    Raises:
        Exception: whatever the task's code, the tracer or Inductor raise.
    """
    task = executed(source)
    fakes = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
    model = _model(task, fakes)
    with fakes, torch.no_grad():
        names = list(inspect.signature(model.forward).parameters)
        leaves, tree = calltree.flatten(task.get_inputs(), names)
        given = [v for _, v in leaves]
        tensors = [_like(v, device) for v in given if isinstance(v, torch.Tensor)]
        state = {name: _like(tensor, device) for name, tensor in held(model).items()}
        registered = {
            *dict(model.named_parameters(remove_duplicate=False)),
            *dict(model.named_buffers(remove_duplicate=False)),
        }

        def function(*passed: torch.Tensor) -> tuple[torch.Tensor, ...]:
            inputs = iter(passed)
            filled = [next(inputs) if isinstance(v, torch.Tensor) else v for v in given]
            args, kwargs = calltree.arguments(tree, filled, vars(task))
            own = {name: tensor for name, tensor in zip(state, inputs, strict=True) if name in registered}
            return tuple(flatten(torch.func.functional_call(model, own, tuple(args), kwargs)))

        return _written(function, [*tensors, *state.values()])


def _model(task: types.ModuleType, fakes: fake_tensor.FakeTensorMode) -> torch.nn.Module:
    """The task's module, of fake tensors if its constructor can work on them.

    One that asks for a value cannot, and is called again on the CPU, which takes the memory that the reference takes.
    """
    try:
        with fakes, torch.no_grad(), replaced(torch.nn.Module, _apply=converted):
            return module_of(task.Model, init_arguments(task))
    except Exception:  # noqa: BLE001 (the task's own code, which may take fakes badly in any way)
        return module_of(task.Model, init_arguments(task))


def _like(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A dense tensor of the same kind on the device, of which nothing but that is known."""
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)


def _written(function: Function, arguments: Sequence[torch.Tensor]) -> str:
    module = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
    with _taking():
        try:
            compile_fx.compile_fx(module, list(arguments))
        except Exception as error:
            if (taken := _taken(error)) is not None:
                return taken
            raise
    raise ValueError("Inductor compiled the task without writing anything")


@contextmanager
def _taking() -> Iterator[None]:
    """While it lasts, Inductor is stopped as soon as its text is there."""
    before = graph.GraphLowering.__dict__["save_output_code"]

    def take(code: str) -> None:
        raise TextTakenError(code)

    graph.GraphLowering.save_output_code = staticmethod(take)
    try:
        yield
    finally:
        graph.GraphLowering.save_output_code = before


def _taken(error: BaseException | None) -> str | None:
    """The text, where that is what ended it: Inductor wraps what is raised within it."""
    while error is not None:
        if isinstance(error, TextTakenError):
            return error.text
        error = error.__cause__ or error.__context__ or getattr(error, "inner_exception", None)
    return None


def _kernels(text: str) -> Iterator[LoweredKernel]:
    """Each Triton kernel's grid and settings, from Inductor's own heuristics for the device."""
    for name, source in _KERNEL.findall(text):
        made: Untyped = getattr(load_module(private_path("kernel"), source), name)
        meta: Mapping[str, object] = made.inductor_meta
        yield LoweredKernel(
            name=name,
            grid=str(meta.get("grid_type", "")),
            settings=tuple(_setting(one) for one in made.configs),
        )


def _setting(found: Untyped) -> dict[str, int]:
    return {**found.kwargs, **{name: getattr(found, name) for name in LAUNCH}}


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    session.serve(control, {Lower: lower})
