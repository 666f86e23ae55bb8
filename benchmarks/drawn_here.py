"""An answer called in this process at other sizes, against fp64: for kernels of our own author alone.

A C++ source is compiled for each size, as the referee and drop-ins do. A Triton module is loaded once, and finds sizes itself.
"""

import contextlib
import copy
import ctypes
import importlib.util
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from kernelwright.export.axes import leaves, macros, workspace
from kernelwright.export.model_new import FLAGS
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import TaskSource

FACTOR, LEAST = 4.0, 2e-6
"""How many times eager's own error, and which share of the result's scale beside it, an answer may err."""


class Tried(NamedTuple):
    """What became of one size."""

    words: str
    right: bool
    by_kernel: bool


def tried(candidate: Candidate, sources: Sequence[TaskSource], device: str, folder: Path) -> list[Tried]:
    """Each size; one that cannot be run is not right."""
    return [*_in_cpp(candidate, sources, folder)] if candidate.language == "cpp" else [
        *_in_triton(candidate, sources, device, folder)
    ]  # fmt: skip


def _drawn(source: TaskSource, device: str) -> tuple[Any, list[Any]]:
    scope: dict[str, Any] = {}
    exec(compile(source.source, source.name, "exec"), scope)  # noqa: S102  a task of ours
    torch.manual_seed(0)
    given = scope["get_init_inputs"]() if "get_init_inputs" in scope else []
    module = scope["Model"](*given).eval().to(device)
    return module, [each.to(device) for each in scope["get_inputs"]()]


def _right(ours: Sequence[Any], module: Any, inputs: Sequence[Any]) -> bool:  # noqa: ANN401
    """Whether it errs no more than a few times as much as PyTorch does, both against fp64."""
    wide = [each.double() if each.is_floating_point() else each for each in inputs]
    exact, eager = _flat(copy.deepcopy(module).double()(*wide)), _flat(module(*inputs))
    for found, wanted, usual in zip(ours, exact, eager, strict=True):
        if found.shape != usual.shape or found.dtype != usual.dtype:
            return False
        if not wanted.numel() or not wanted.isfinite().all():
            continue
        rounding = torch.finfo(usual.dtype).eps if usual.is_floating_point() else 0
        scale = float(wanted.abs().mean())
        allowed = FACTOR * float((usual.double() - wanted).abs().max()) + max(LEAST, rounding) * scale
        if not bool(((found.double() - wanted).abs() <= allowed + max(LEAST, rounding) * wanted.abs()).all()):
            return False
    return True


def _flat(found: Any) -> list[Any]:  # noqa: ANN401
    return [*found] if isinstance(found, tuple | list) else [found]


def _words(source: TaskSource) -> str:
    return source.part.point.words if source.part else source.name


def _in_triton(candidate: Candidate, sources: Sequence[TaskSource], device: str, folder: Path) -> Iterator[Tried]:
    file = folder / "answer.py"
    file.write_text(candidate.source)
    spec = importlib.util.spec_from_file_location(f"answer_{abs(hash(str(folder)))}", file)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    run, calls = made._run, list[int]()

    def counted(*tensors: Any) -> object:  # noqa: ANN401
        calls.append(1)
        return run(*tensors)

    made._run = counted
    for source in sources:
        module, inputs = _drawn(source, device)
        scope: dict[str, Any] = {}
        exec(compile(source.source, source.name, "exec"), scope)  # noqa: S102
        new = made.ModelNew(*(scope["get_init_inputs"]() if "get_init_inputs" in scope else [])).eval().to(device)
        new.load_state_dict(module.state_dict())
        before, right = len(calls), False
        with torch.no_grad(), contextlib.suppress(RuntimeError):
            right = _right(_flat(new(*inputs)), module, inputs)
        yield Tried(_words(source), right, len(calls) > before)


def _in_cpp(candidate: Candidate, sources: Sequence[TaskSource], folder: Path) -> Iterator[Tried]:
    for number, source in enumerate(sources):
        assert source.part
        sizes = source.part.sizes
        if leaves(candidate, sizes):
            yield Tried(_words(source), right=True, by_kernel=False)
            continue
        module, inputs = _drawn(source, "cpu")
        text, library = folder / f"k{number}.cpp", folder / f"k{number}.so"
        text.write_text(candidate.source)
        flags = [f"-D{d.name}={d.value}" for d in (*candidate.defines, *macros(candidate, sizes))]
        done = subprocess.run(["g++", *FLAGS, *candidate.flags, *flags, text, "-o", library], capture_output=True)
        if done.returncode:
            yield Tried(f"{_words(source)}: not built", right=False, by_kernel=False)
            continue
        with torch.no_grad():
            wanted = _flat(module(*inputs))
            held = [*module.state_dict().values()]
            outputs = [torch.full_like(each, float("nan") if each.is_floating_point() else 1) for each in wanted]
            room = torch.empty(workspace(candidate, sizes) + 64, dtype=torch.uint8)
            tensors = [*(each.contiguous() for each in (*inputs, *held)), *outputs]
            places = [*(each.data_ptr() for each in tensors), room.data_ptr() + -room.data_ptr() % 64]
            getattr(ctypes.CDLL(str(library)), candidate.entry)(*map(ctypes.c_void_p, places))
            yield Tried(_words(source), _right(outputs, module, inputs), by_kernel=True)
