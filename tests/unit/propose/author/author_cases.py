"""Tasks from source text through torch.export, and C++ candidates through the system compiler."""

import copy
import ctypes
import inspect
import subprocess
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import pytest

from kernelwright.evaluate.entrypoints.reference import export
from kernelwright.evaluate.entrypoints.reference.rounding import Unrounded
from kernelwright.evaluate.triton.binding import held
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import Domain, TensorSpec

torch = pytest.importorskip("torch")
HEADER = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"
STRICT = ("-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")


@dataclass
class Case:
    """A task with the module and the inputs that it came from."""

    task: Task
    module: torch.nn.Module
    inputs: list

    def reference(self, inputs=None):
        """The fp64 results, and the new state."""
        wide = [t.double() if t.is_floating_point() else t for t in (inputs or self.inputs)]
        with Unrounded():
            return called(copy.deepcopy(self.module).double(), wide, self.task.workload.state)

    def eager(self):
        """PyTorch's own results, and the new state."""
        return called(copy.deepcopy(self.module), self.inputs, self.task.workload.state)


def called(module, inputs, state):
    """What a module returns, and what it leaves in its state."""
    with torch.no_grad():
        found = module(*inputs)
    return [*_leaves(found), *(module.state_dict()[name] for name in state)]


def _leaves(found):
    parts = found if isinstance(found, tuple | list) else (found,)
    return [t for part in parts for t in (part if isinstance(part, tuple | list) else (part,))]


def _changed(module, inputs):
    """Names of the state that a call changes."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        other(*inputs)
    after = other.state_dict()
    return [name for name, tensor in module.state_dict().items() if not torch.equal(tensor, after[name])]


def case(source, name="task", kind="cpu", decompose=False, train=False):
    scope = {}
    exec(compile(source, name, "exec"), scope)
    torch.manual_seed(0)
    module = scope["Model"](*scope.get("get_init_inputs", list)())
    module = module if train else module.eval()
    inputs = scope["get_inputs"]()
    state = _changed(module, inputs)
    names = list(inspect.signature(module.forward).parameters)
    with _decomposed() if decompose else nullcontext():
        _, graph = export.graph(module, (inputs, {}), [_spec(n, t) for n, t in zip(names, inputs, strict=False)])
    outputs = called(copy.deepcopy(module), inputs, state)
    parameters = held(module)
    workload = Workload(
        changes=tuple(state),
        state=tuple(state),
        inputs=tuple(_spec(n, t) for n, t in zip(names, inputs, strict=False)),
        parameters=tuple(_spec(n, t) for n, t in parameters.items()),
        constants=tuple(n for n in parameters if n not in module.state_dict()),
        outputs=tuple(_spec(n, t) for n, t in zip([*graph.outputs, *state], outputs, strict=True)),
    )
    task = Task(
        source=TaskSource(name=name, format="kernelbench", source=source),
        # Of a GPU that is not here: Triton's interpreter has no products in bfloat16 numbers, the default where one is.
        target=Target(kind=kind, arch="native" if kind == "cpu" else "sm_90", present=kind == "cpu"),
        workload=workload,
        graph=graph,
    )
    return Case(task, module, inputs)


def model(forward, inputs, init="pass", init_inputs="[]", arguments="x", signature="self"):
    """KernelBench-format text around one expression."""
    return HEADER + (
        f"class Model(nn.Module):\n    def __init__({signature}):\n"
        f"        super().__init__()\n        {init}\n\n"
        f"    def forward(self, {arguments}):\n        return {forward}\n\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return {init_inputs}\n"
    )


def _dtype(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def _spec(name, tensor):
    domain = Domain.REAL if tensor.is_floating_point() else Domain.INDEX
    return TensorSpec(name=name, shape=tuple(tensor.shape), dtype=_dtype(tensor), domain=domain)


@contextmanager
def _decomposed():
    """Every export taken apart into core operations."""
    whole = torch.export.export
    torch.export.export = lambda *args, **kwargs: whole(*args, **kwargs).run_decompositions()
    try:
        yield
    finally:
        torch.export.export = whole


def build(candidates, folder, optimize="-O1"):
    """Compiled entries, built side by side."""
    running = []
    for number, candidate in enumerate(candidates):
        source = folder / f"k{number}.cpp"
        source.write_text(candidate.source)
        defines = [f"-D{d.name}={d.value}" for d in candidate.defines]
        library = source.with_suffix(".so")
        command = ["g++", *STRICT, *candidate.flags, *defines, optimize, str(source), "-o", str(library)]
        running.append((candidate, library, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)))
        if len(running) % 4 == 0:
            running[-4][2].wait()
    entries = []
    for candidate, library, process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors + candidate.source
        entries.append(getattr(ctypes.CDLL(str(library)), candidate.entry))
    return entries


def call(entry, case, inputs=None, workspace=1):
    """The kernel's outputs, poisoned before, with every buffer off by one element from alignment."""
    tensors = [*(inputs or case.inputs), *held(case.module).values()]
    shifted = [_shifted(t) for t in tensors]
    outputs = [_shifted(torch.empty(o.shape, dtype=getattr(torch, o.dtype)).fill_(float("nan") if o.floating else 1))
               for o in case.task.workload.outputs]  # fmt: skip
    room = torch.empty(workspace + 64, dtype=torch.uint8)
    place = -room.data_ptr() % 64
    entry(*(ctypes.c_void_p(t.data_ptr()) for t in (*shifted, *outputs, room[place:])))
    return outputs


def _shifted(tensor):
    room = torch.empty(tensor.numel() + 1, dtype=tensor.dtype)
    room[1:] = tensor.reshape(-1)
    return room[1:].reshape(tensor.shape)


def error(found, wanted):
    """Largest error relative to |r| + median |r|."""
    wanted = wanted.double()
    scale = wanted.abs() + wanted.abs().median()
    return float(((found.double() - wanted).abs() / scale.clamp_min(1e-30)).nan_to_num(nan=1e9).max())
