"""A Triton candidate run by Triton's interpreter on CPU tensors, at reduced shapes.

The interpreter is repaired first, and what stays unsupported is reported. Nothing is compared here: outputs go to the
grader. Not seen here: whatever depends on warps or the order of reductions, and most of what depends on barriers.

Of the math library of CUDA and ROCm, each function that torch has too is computed by torch; the others raise
UnsupportedError when they are called, so that no verdict follows from them.
"""

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as generic
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.hip import libdevice as hip
from triton.runtime import interpreter
from triton.runtime.errors import InterpreterError
from triton.runtime.jit import JITFunction

from kernelwright.errors import RefereeError
from kernelwright.evaluate.triton.bfloat16 import install_carrier
from kernelwright.evaluate.triton.binding import loaded
from kernelwright.evaluate.triton.builder import PRECISIONS, RepairedBuilder
from kernelwright.evaluate.triton.combine import install_trees
from kernelwright.evaluate.triton.device import CudaPretence, RecordingDriver, absent_gpu
from kernelwright.evaluate.triton.fault import Boundary, Fault, UnsupportedError
from kernelwright.evaluate.triton.hints import install_hints
from kernelwright.evaluate.triton.memory import tensors_of
from kernelwright.evaluate.triton.model import (
    call,
    construct,
    flatten,
    load_entry,
    load_module,
    private_path,
    seeded,
    written,
)
from kernelwright.evaluate.triton.programs import Order
from kernelwright.evaluate.triton.undefined import Fill, Lanes
from kernelwright.evaluate.triton.untyped import Untyped
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload

Argument: TypeAlias = "torch.Tensor | bool | int | float"

Function = Callable[..., torch.Tensor]
_BY_NAME = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isinf", "isnan",
    "lgamma", "log", "log10", "log1p", "log2", "nextafter", "pow", "rsqrt", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip
_TABLE: dict[str, Function] = {
    **{name: getattr(torch, name) for name in _BY_NAME},
    "cbrt": lambda x: torch.copysign(x.abs().pow(1 / 3), x),
    "div_rn": torch.div,
    "exp10": lambda x: torch.pow(10.0, x),
    "fast_cosf": torch.cos,
    "fast_dividef": torch.div,
    "fast_exp10f": lambda x: torch.pow(10.0, x),
    "fast_expf": torch.exp,
    "fast_log10f": torch.log10,
    "fast_log2f": torch.log2,
    "fast_logf": torch.log,
    "fast_powf": torch.pow,
    "fast_sinf": torch.sin,
    "fast_tanf": torch.tan,
    "finitef": torch.isfinite,
    "fma": lambda x, y, z: torch.addcmul(z.double(), x.double(), y.double()).to(z.dtype),
    "isfinited": torch.isfinite,
    "llrint": torch.round,
    "nearbyint": torch.round,
    "normcdf": torch.special.ndtr,
    "rcp_rn": torch.reciprocal,
    "rint": torch.round,
    "round": lambda x: torch.copysign(torch.floor(x.abs() + 0.5), x),
    "rsqrt_rn": torch.rsqrt,
    "saturatef": lambda x: x.clamp(0, 1),
    "signbit": torch.signbit,
    "sqrt_rn": torch.sqrt,
}
_PREDICATES = {"isinf", "isnan", "finitef", "isfinited", "signbit"}
_RESULT = {"llrint": tl.int64, **dict.fromkeys(_PREDICATES, tl.int32)}


class Arguments(NamedTuple):
    """What the candidate is called with: CPU tensors that it may write to."""

    inputs: Sequence[Argument]
    parameters: Mapping[str, torch.Tensor]
    """In state_dict order."""
    workload: Workload = Workload(inputs=(), parameters=(), outputs=())
    """How the inputs are put together, and what forward writes to."""


class Way(NamedTuple):
    """How a call is interpreted."""

    idle: bool = False
    """No kernel runs."""
    seed: int = 0
    """What a random program draws by; the module is built anew for each call, under the reference's seed."""
    order: Order = "ascending"
    """In which the programs of a launch begin."""
    fill: Fill | None = None
    """What undefined lanes hold; None: zero."""


USUAL = Way()


def interpret(
    candidate: Candidate, task_source: str, arguments: Arguments, arch: str, way: Way = USUAL
) -> tuple[torch.Tensor, ...] | Fault:
    """The candidate's outputs for `arguments`, computed by the interpreter.

    Args:
        candidate: a `triton` candidate with its defines chosen.
        task_source: the task's file, for its `get_init_inputs`, at the reduced shapes.
        arguments: inputs and parameters.
        arch: the device that host code believes it is on.
        way: in which order, for instance.

    Raises:
        RefereeError: Triton was imported without TRITON_INTERPRET=1.
    """
    install()
    _Launches.order = way.order
    task = load_module(private_path("task"), task_source)
    path = private_path("kernel")
    RepairedBuilder.lanes = Lanes(str(path), way.fill)
    outputs: tuple[torch.Tensor, ...] = ()
    with Boundary(path, {NotImplementedError: "unsupported"}) as boundary, pretending(arch), _in_new_memory(way.idle):
        entry = load_entry(path, candidate)
        boundary.default = "run"
        model, workload = construct(entry, task), arguments.workload
        own = loaded(model, arguments.parameters, constants=workload.constants).own
        seeded(way.seed)
        outputs = (*flatten(call(model, workload, arguments.inputs)), *written(own, workload, arguments.inputs))
    return boundary.fault or outputs


MOST_MET = 32
"""Tensors that are kept of launches without kernels."""


class _Launches:
    """Whether kernels run in this process, and, where they do not, what they would have been given."""

    idle = False
    order: Order = "ascending"
    patched: ClassVar[set[int]] = set()
    """The globals of functions whose language has been replaced in the launch that is running."""
    count = 0
    """Launches that were not made."""
    met: ClassVar[list[torch.Tensor]] = []


def launches() -> int:
    """How many kernels would have been launched in the last call without kernels."""
    return _Launches.count


def undefined() -> Lanes:
    """What the last call's masked loads left undefined."""
    return RepairedBuilder.lanes


def launched_with() -> list[torch.Tensor]:
    """Copies of the tensors that launches were given in the last call without kernels, as they were then."""
    return list(_Launches.met)


@contextmanager
def _in_new_memory(idle: bool) -> Iterator[None]:
    """New memory holds NaN, so that what an earlier call has left there is no result. With `idle`, launches do nothing."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    _Launches.idle = idle
    _Launches.met.clear()
    _Launches.count = 0
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        _Launches.idle = False
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


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
    install_trees()
    install_libdevice()
    install_indices()
    install_hints()
    builder.__class__ = RepairedBuilder  # the instance is shared: Triton's semantics hold it too
    builder.options = dataclasses.replace(
        builder.options,
        debug=True,  # otherwise device_assert is dropped
        sanitize_overflow=False,  # the device wraps around in silence
        allowed_dot_input_precisions=PRECISIONS,
    )
    interpreter.GridExecutor.__call__ = _launch
    interpreter.InterpretedFunction.__call__ = _device_function
    JITFunction.run = _compiled


def _compiled(self: Untyped, *_: object, **__: object) -> None:
    """Of a function that is compiled whatever the environment says, such as Gluon's, nothing is known here."""
    raise UnsupportedError(f"launches {self.__name__}, a {type(self).__name__}, which cannot be interpreted")


def _launch(self: Untyped, *given: object, **named: object) -> None:
    """Run one launch's programs; as Triton's own executor, but for their order, and without copies of the tensors."""
    if _Launches.idle:
        tensors = [t.detach().clone() for t in tensors_of((*given, *named.values()))]
        _Launches.met += tensors[: MOST_MET - len(_Launches.met)]
        _Launches.count += 1
        return
    function, builder = self.fn, interpreter.interpreter_builder
    known = inspect.getfullargspec(function).args
    named = {name: value for name, value in named.items() if name in known}
    for hook in self.pre_run_hooks:
        hook(*given, **named)
    _Launches.patched.clear()
    scope = interpreter._patch_lang(function)
    try:
        bound = inspect.getcallargs(function, *given, **named)
        arguments = {n: v if n in self.constexprs else interpreter._implicit_cvt(v) for n, v in bound.items()}
        grid = self.grid(arguments) if callable(self.grid) else self.grid
        width, height, depth = (*map(int, grid), 1, 1)[:3]
        builder.set_grid_dim(width, height, depth)

        def begin(program: int) -> None:
            builder.set_grid_idx(program % width, program // width % height, program // (width * height))

        def run(program: int) -> None:
            function(**arguments)
            builder.guard.ended(program)

        count = width * height * depth
        builder.guard.enter(bound, count)
        builder.launched(count, _Launches.order, begin, run)
    finally:
        scope.restore()


def _device_function(self: Untyped, *given: object, **named: object) -> Untyped:
    """Call a function from within a kernel; what the language is replaced by is looked up once in a launch."""
    if id(self.fn.__globals__) not in _Launches.patched:
        interpreter._patch_lang(self.fn)
        _Launches.patched.add(id(self.fn.__globals__))
    try:
        return self.rewrite()(*given, **named)
    except Exception as error:
        raise InterpreterError(repr(error)) from error


def install_indices() -> None:
    """Let a scalar of a kernel bound its loop, also where it is held as an array of one element.

    Triton 3.6 takes `int` of that array, which numpy 2.5 refuses.
    """
    patch = interpreter._patch_lang_tensor

    def patched(tensor: type, scope: Untyped) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(np.asarray(self.handle.data).item()))

    interpreter._patch_lang_tensor = patched


@contextmanager
def pretending(arch: str) -> Iterator[RecordingDriver]:
    """As host code and kernels of a candidate need it."""
    with (
        absent_gpu(hardware(arch)) as driver,
        CudaPretence(),
        torch.no_grad(),
        np.errstate(all="ignore"),
        warnings.catch_warnings(action="ignore"),  # of numpy, about the values that the task gave it
    ):
        yield driver


def install_libdevice() -> None:
    """Replace the functions in Triton's libdevice modules of this process; do so before candidates import."""
    for module in (cuda, hip, generic):
        for name in _functions(module):
            table = _TABLE.get(name)
            setattr(module, name, _computed(table, _RESULT.get(name)) if table else _unsupported(name))


def _functions(module: ModuleType) -> list[str]:
    return [name for name, value in inspect.getmembers(module, callable) if not name.startswith("_")]


def _computed(function: Function, result: Untyped) -> Callable[..., Untyped]:
    def call(*arguments: object, **_named: object) -> Untyped:
        tensors = [interpreter.interpreter_semantic.to_tensor(a) for a in arguments]
        values = function(*(torch.from_numpy(np.array(t.handle.data)) for t in tensors))
        element = result or tensors[0].dtype
        data = values.numpy().astype(interpreter._get_np_dtype(element))
        shaped = any(t.type.is_block() for t in tensors)
        kind = tl.block_type(element, list(data.shape)) if shaped else element
        return tl.tensor(interpreter.TensorHandle(data, element), kind)

    return call


def _unsupported(name: str) -> Callable[..., Untyped]:
    def call(*_arguments: object, **_named: object) -> Untyped:
        raise UnsupportedError(f"libdevice.{name} cannot be interpreted")

    return call
