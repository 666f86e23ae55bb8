"""A serial C or C++ function as the reference of a task: built by the system's compiler, called as it is.

In double precision it is the very same text with `float` read as `double` behind its includes. Built once more with products
and sums fused, where the machine can, it shows what rounding decides (`rounding.fused`). Before anything else it runs
once under the undefined-behaviour sanitizer with the standard library's own checks, and with every array between memory
that nobody may touch, in a process of its own; what it does there is the task's fault, said with the line. AddressSanitizer
would need more address space than a confined process has.

A program has a `main` besides: what that passes to the function is the task's inputs (`serial_driver.py`).

On a GPU the arguments are copied from the device and the results back to it: that is what the serial code costs there.
"""

import base64
import ctypes
import faulthandler
import io
import mmap
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernelwright.evaluate.entrypoints.reference.rounding import FUSES
from kernelwright.evaluate.entrypoints.reference.serial_driver import C_TYPES, Array, driven, has_main
from kernelwright.records.expression import worth
from kernelwright.records.task import SerialArgument, SerialSpec

OWN = ("-shared", "-fPIC", "-Wl,-Bsymbolic", "-w")
"""A library whose calls of its own functions stay within it: the C library has a `step` and an `advance` too."""
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", *OWN)
FUSED_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", *OWN)
SANITIZED = (
    "-O1",
    "-g",
    "-fsanitize=undefined,float-divide-by-zero",
    "-fno-sanitize-recover=all",
    "-D_GLIBCXX_ASSERTIONS",
)
LIMIT_S = 100
ASTRAY, MARK = 3, 0xA5
"""The exit code of a call that wrote before an array, and what is there before it."""
_PAGE = mmap.PAGESIZE
GUARDS = (1 << 28, 1 << 24, _PAGE)
"""Bytes that lie on either side of an array, as many as there are addresses for."""
NO_ROOM = ctypes.c_void_p(-1).value
_LIBRARY = torch.library.Library("serial", "DEF")
_DEFINED: dict[str, Callable[[list[torch.Tensor]], list[torch.Tensor]]] = {}
"""What the operator of a family calls: torch's registry takes each name once."""


class SerialFunction:
    """The function, callable on tensors."""

    def __init__(self, code: str, spec: dict[str, Any]) -> None:
        """Build it, run it under sanitizers, and have it reproduce its stored cases.

        Raises:
            RuntimeError: it does not compile, a sanitizer or a guard found fault, or a stored case comes out differently.
        """
        self._code, self._spec = code.lstrip("\n"), SerialSpec.model_validate(spec)
        self._folder = Path(tempfile.mkdtemp())
        self._built: dict[str, Any] = {}
        self._led = False
        """Whether other numbers lead it out of its memory."""
        self._driven = self._drive() if has_main(self._code) else None
        # Whoever builds it may mean tensors without memory, or on a GPU: a thread of its own has no such modes.
        with ThreadPoolExecutor(1) as apart:
            apart.submit(self._check).result()
        self._operator = _operator(self._spec.family, self._run, self._fake)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor | list[torch.Tensor]:
        """The results; one alone is not in a list."""
        found = self._operator(list(inputs))
        return found if len(found) > 1 else found[0]

    def inputs(self) -> list[torch.Tensor]:
        """Arguments as the task's main passes them, or else as the specification says they are drawn."""
        if self._driven is not None:
            return [torch.from_numpy(array).clone() for array in self._driven]
        return [_drawn(a, self._shape(a), worth(a.bound, self._spec.sizes)) for a in self._spec.inputs]

    # --- calling --------------------------------------------------------------------------------------------------

    def _run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """On the host, wherever the tensors are."""
        self._check_shapes(inputs)
        device = inputs[0].device
        given = [t.to("cpu").contiguous() for t in inputs]
        double = any(t.dtype == torch.float64 for t in given) and not self._declares_double
        if self._led and torch.get_default_dtype() == torch.float64:
            # In the reference of doubles alone, which is asked before eager is timed: the look would be part of its time.
            self._vet(given)
        results = self._outputs(given, double)
        pointers = iter(self._pointers(given, results))
        self._function(double)(*(next(pointers) if a.pointer else self._value(a, double) for a in self._spec.arguments))
        return [t.to(device) for t in results]

    def _check_shapes(self, inputs: Sequence[torch.Tensor]) -> None:
        """The code takes its sizes from the specification: it would read beyond what is shorter."""
        for argument, tensor in zip(self._spec.inputs, inputs, strict=True):
            if tuple(tensor.shape) != (wanted := self._shape(argument)):
                raise ValueError(f"{argument.name} has the shape {wanted} in this task, not {tuple(tensor.shape)}")

    @property
    def _declares_double(self) -> bool:
        return any(a.dtype == "float64" for a in self._spec.inputs)

    def _outputs(self, given: Sequence[torch.Tensor], double: bool) -> list[torch.Tensor]:
        named = {a.name: t for a, t in zip(self._spec.inputs, given, strict=True)}
        return [
            named[a.name].clone() if a.inout else torch.zeros(self._shape(a), dtype=_dtype(a, double), device="cpu")
            for a in self._spec.outputs
        ]

    def _pointers(self, given: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> list[ctypes.c_void_p]:
        read, written = iter(given), iter(results)
        found = []
        for argument in (a for a in self._spec.arguments if a.pointer):
            tensor = next(written) if argument.out or argument.inout else next(read)
            if argument.inout:
                next(read)
            found.append(ctypes.c_void_p(tensor.data_ptr()))
        return found

    def _value(self, argument: SerialArgument, double: bool) -> Any:  # noqa: ANN401  a ctypes number
        if argument.dtype.startswith("float"):
            wide = double or argument.dtype == "float64"
            return (ctypes.c_double if wide else ctypes.c_float)(float(argument.value))
        whole = worth(
            argument.value if not isinstance(argument.value, float) else int(argument.value), self._spec.sizes
        )
        return (ctypes.c_long if argument.dtype == "int64" else ctypes.c_int)(whole)

    def _shape(self, argument: SerialArgument) -> tuple[int, ...]:
        return tuple(worth(extent, self._spec.sizes) for extent in argument.shape)

    def _fake(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """Shapes alone, for torch.export."""
        self._check_shapes(inputs)
        double = any(t.dtype == torch.float64 for t in inputs) and not self._declares_double
        return [inputs[0].new_empty(self._shape(a), dtype=_dtype(a, double)) for a in self._spec.outputs]

    # --- building -------------------------------------------------------------------------------------------------

    def _function(self, double: bool) -> Any:  # noqa: ANN401  a ctypes function
        name = "double" if double else "fused" if FUSES.get() else "plain"
        if name not in self._built:
            self._built[name] = self._compiled(FUSED_FLAGS if name == "fused" else FLAGS, name, double)
        return self._built[name]

    def _compiler(self) -> tuple[str, str]:
        cpp = self._spec.dialect == "cpp"
        compiler = shutil.which("g++" if cpp else "gcc") or shutil.which("c++" if cpp else "cc")
        if compiler is None:
            raise RuntimeError("no C++ compiler was found: install one, for example with `apt-get install g++`")
        return compiler, "-std=c++17" if cpp else "-std=c17"

    def _drive(self) -> list[Array]:
        return driven(self._code, self._spec, self._folder, (*self._compiler(), "-O2", "-w"))

    def _compiled(self, flags: Sequence[str], name: str, double: bool) -> Any:  # noqa: ANN401
        source, library = self._folder / f"{name}.{self._spec.dialect}", self._folder / f"{name}.so"
        source.write_text(as_double(linked(self._code, self._spec)) if double else linked(self._code, self._spec))
        argv = [*self._compiler(), *flags, str(source), "-o", str(library), "-lm"]
        made = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if made.returncode != 0:
            raise RuntimeError(f"the serial function does not compile:\n{made.stderr[:2000]}")
        function = ctypes.CDLL(str(library))[self._spec.function]
        function.restype = None
        return function

    # --- admission ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self._sanitize()
        self._check_cases()

    def _sanitize(self) -> None:
        """Run it where every fault is fatal; and once more on other numbers, to see whether these lead it astray."""
        self._sanitized = self._compiled((*SANITIZED, *OWN), "sanitized", double=False)
        given = self.inputs()
        fault = self._fault(given)
        if fault:
            raise RuntimeError(f"the serial function is at fault under sanitizers: {fault}")
        self._vetted = _spans(given)
        self._led = any(t.is_floating_point() for t in given) and bool(self._fault([_strained(t) for t in given]))

    def _vet(self, given: Sequence[torch.Tensor]) -> None:
        """Refuse numbers that lead it out of its memory, such as a place in a table that follows from a float.

        Values between those that it was seen to take are taken to be as harmless.

        Raises:
            RuntimeError: it reads or writes elsewhere, or does what C leaves undefined.
        """
        spans = _spans(given)
        if all(known[0] <= new[0] and new[1] <= known[1] for known, new in zip(self._vetted, spans, strict=True)):
            return
        single = [t.to(getattr(torch, a.dtype)) for t, a in zip(given, self._spec.inputs, strict=True)]
        fault = self._fault(single)
        if fault:
            raise RuntimeError(f"on such inputs the serial function is at fault: {fault}")
        both = zip(self._vetted, spans, strict=True)
        self._vetted = [(min(one[0], two[0]), max(one[1], two[1])) for one, two in both]

    def _fault(self, given: Sequence[torch.Tensor]) -> str:
        """What sanitizers and guards say of a call; empty: nothing.

        It happens in a process of its own, which only calls the function: after a fork, torch's threads are gone and whatever
        waits for them hangs.
        """
        log, arguments = self._folder / "sanitizer.log", self._guarded(given)
        arrays = [a for a in arguments if isinstance(a, _Guarded)]
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            signal.alarm(LIMIT_S)
            self._sanitized(*(a.value if isinstance(a, _Guarded) else a for a in arguments))
            os._exit(0 if all(a.kept() for a in arrays) else ASTRAY)
        _, status = os.waitpid(child, 0)
        for array in arrays:
            array.free()
        if status == 0:
            return ""
        said = log.read_text(errors="replace").strip()[:1500] if log.exists() else ""
        outside = os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == ASTRAY
        return said or ("it reads or writes outside of an argument's memory" if outside else "undefined behaviour")

    def _guarded(self, given: Sequence[torch.Tensor]) -> list[Any]:
        """Arguments, the arrays among them between guards."""
        results = self._outputs(given, double=False)
        read, written = iter(given), iter(results)
        arguments: list[Any] = []
        for a in self._spec.arguments:
            if not a.pointer:
                arguments.append(self._value(a, double=False))
                continue
            arguments.append(_Guarded(next(written) if a.out or a.inout else next(read)))
            if a.inout:
                next(read)
        return arguments

    def _check_cases(self) -> None:
        for number, case in enumerate(self._spec.cases):
            spec = self._spec.model_copy(update={"sizes": {**self._spec.sizes, **case.sizes}, "cases": ()})
            there = SerialFunction.__new__(SerialFunction)
            there._code, there._spec, there._folder, there._built = self._code, spec, self._folder, self._built
            there._led = False
            made = there._run([_array(case.inputs[a.name]) for a in spec.inputs])
            for argument, tensor in zip(spec.outputs, made, strict=True):
                wanted = _array(case.outputs[argument.name])
                if not torch.allclose(tensor.double(), wanted.double(), rtol=case.tolerance, atol=case.tolerance):
                    worst = float((tensor.double() - wanted.double()).abs().max())
                    raise RuntimeError(
                        f"the serial function does not reproduce the stored case {number}: {argument.name} is off by up to "
                        f"{worst:.3g}. Store it again, or allow more with `tolerance`"
                    )


def linked(code: str, spec: SerialSpec) -> str:
    """The code with the function under its plain name."""
    if spec.dialect == "c" or 'extern "C"' in code:
        return code
    declared = ", ".join(_declared(a) for a in spec.arguments)
    return f'{_includes(code)[0]}extern "C" void {spec.function}({declared});\n{_includes(code)[1]}'


def _declared(argument: SerialArgument) -> str:
    constant = "const " if argument.pointer and not argument.out else ""
    return f"{constant}{C_TYPES[argument.dtype]}{'*' if argument.pointer else ''}"


def as_double(code: str) -> str:
    """The code in double precision: behind its includes, `float` means `double`."""
    above, below = _includes(code)
    return f"{above}#define float double\n{below}"


def _includes(code: str) -> tuple[str, str]:
    lines = code.splitlines(keepends=True)
    last = max((i for i, line in enumerate(lines) if line.lstrip().startswith("#include")), default=-1)
    return "".join(lines[: last + 1]), "".join(lines[last + 1 :])


def _operator(family: str, run: Any, fake: Any) -> Any:  # noqa: ANN401
    """The torch operator of a family: torch.export shows it as one node, whose name says the family."""
    fresh = family not in _DEFINED
    _DEFINED[family] = run
    _DEFINED[f"{family} fake"] = fake
    if fresh:
        _LIBRARY.define(f"{family}(Tensor[] inputs) -> Tensor[]")
        _LIBRARY.impl(family, lambda inputs: _DEFINED[family](inputs), "CompositeExplicitAutograd")
        torch.library.register_fake(
            f"serial::{family}", lambda inputs: _DEFINED[f"{family} fake"](inputs), lib=_LIBRARY
        )
    return getattr(torch.ops.serial, family)


def _dtype(argument: SerialArgument, double: bool) -> torch.dtype:
    return torch.float64 if double and argument.dtype == "float32" else getattr(torch, argument.dtype)


def _drawn(argument: SerialArgument, shape: tuple[int, ...], bound: int) -> torch.Tensor:
    dtype = getattr(torch, argument.dtype)
    match argument.values:
        case "index":
            return torch.randint(0, bound, shape, dtype=dtype)
        case "uniform":
            return torch.rand(shape, dtype=dtype)
        case "positive":
            return torch.rand(shape, dtype=dtype) + 0.5
        case "sign":
            return torch.randint(0, 2, shape).to(dtype) * 2 - 1
    return (
        torch.randn(shape, dtype=dtype) if dtype.is_floating_point else torch.randint(-1000, 1000, shape, dtype=dtype)
    )


class _Guarded:
    """A copy of an array whose last byte lies before memory that nobody may touch; and such memory lies before its first page.

    So much of it that a place which follows from a wild number falls into it too, as far as the process has addresses.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        numbers = (ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
        self._libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *numbers)
        self._libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        size = tensor.numel() * tensor.element_size()
        room = -(-max(size, 1) // _PAGE) * _PAGE
        self._base, guard = self._mapped(room)
        self._first, self._spare = self._base + guard, room - size
        self._libc.mprotect(self._first, room, mmap.PROT_READ | mmap.PROT_WRITE)
        ctypes.memset(self._first, MARK, self._spare)
        self.value = ctypes.c_void_p(self._first + self._spare)
        ctypes.memmove(self.value, tensor.data_ptr(), size)

    def _mapped(self, room: int) -> tuple[int, int]:
        """Where so much room lies between two guards, and how long each of these is."""
        for guard in GUARDS:
            self._whole = room + 2 * guard
            kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
            base = self._libc.mmap(None, self._whole, 0, kind, -1, 0)
            if base is not None and base != NO_ROOM:
                return int(base), guard
        raise MemoryError(f"no room for {room} bytes between guards")

    def kept(self) -> bool:
        """Whether nobody wrote between the first guard and the array."""
        before = np.frombuffer(ctypes.string_at(self._first, self._spare), np.uint8)
        return bool((before == MARK).all())

    def free(self) -> None:
        """Give the memory back."""
        self._libc.munmap(self._base, self._whole)


def _spans(given: Sequence[torch.Tensor]) -> list[tuple[float, float]]:
    """The least and the largest of each input's numbers."""
    return [(float(t.min()), float(t.max())) if t.numel() else (0.0, 0.0) for t in given]


def _strained(given: torch.Tensor) -> torch.Tensor:
    """Numbers three times as large, every second with the other sign; integers as they are."""
    if not given.is_floating_point():
        return given
    changed = given * 3
    changed.view(-1)[::2].neg_()
    return changed


def _array(stored: str) -> torch.Tensor:
    return torch.from_numpy(np.load(io.BytesIO(base64.b64decode(stored)), allow_pickle=False))
