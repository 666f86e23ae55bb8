"""The math library of CUDA and ROCm for Triton's interpreter: each function that torch has too is computed by torch.

Functions outside the table raise UnsupportedError when they are called: no verdict follows from them.
"""

import inspect
from collections.abc import Callable
from types import ModuleType

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice as generic
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.hip import libdevice as hip
from triton.runtime import interpreter

from kernelwright.evaluate.triton.fault import UnsupportedError
from kernelwright.evaluate.triton.foreign import Foreign

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


def install() -> None:
    """Replace the functions in Triton's libdevice modules of this process; do so before candidates import."""
    for module in (cuda, hip, generic):
        for name in _functions(module):
            table = _TABLE.get(name)
            setattr(module, name, _computed(table, _RESULT.get(name)) if table else _unsupported(name))


def _functions(module: ModuleType) -> list[str]:
    return [name for name, value in inspect.getmembers(module, callable) if not name.startswith("_")]


def _computed(function: Function, result: Foreign) -> Callable[..., Foreign]:
    def call(*arguments: object, **_named: object) -> Foreign:
        tensors = [interpreter.interpreter_semantic.to_tensor(a) for a in arguments]
        values = function(*(torch.from_numpy(np.array(t.handle.data)) for t in tensors))
        element = result or tensors[0].dtype
        data = values.numpy().astype(interpreter._get_np_dtype(element))
        shaped = any(t.type.is_block() for t in tensors)
        kind = tl.block_type(element, list(data.shape)) if shaped else element
        return tl.tensor(interpreter.TensorHandle(data, element), kind)

    return call


def _unsupported(name: str) -> Callable[..., Foreign]:
    def call(*_arguments: object, **_named: object) -> Foreign:
        raise UnsupportedError(f"libdevice.{name} cannot be interpreted")

    return call
