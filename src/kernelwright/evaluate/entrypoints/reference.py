"""The task's own code in its own process: inputs, the fp64 and the eager result, the compiled baseline, the OpGraph.

The task is untrusted code too. Its process sees seeds and expected results, which no candidate's process does.
"""

import ast
import copy
import inspect
import random
import socket
import time
import traceback
import types
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch

from kernelwright.evaluate.entrypoints import export, numerics, session
from kernelwright.evaluate.entrypoints.export import Watch, spec_of, with_domain
from kernelwright.evaluate.sandbox.arena import ArenaView, described
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.reduce import cut, reduce_workload
from kernelwright.records.tensor import Scalar, TensorSpec

Call = Callable[..., object]


def tensors_of(value: object) -> list[torch.Tensor]:
    """The tensors that a forward returned.

    Raises:
        TypeError: it returned something else.
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(v, torch.Tensor) for v in value):
        return list(value)
    raise TypeError(f"forward returned a {type(value).__name__}; a tensor or a tuple of tensors can be judged")


def double(value: object) -> object:
    """A floating tensor in double precision; anything else as it is."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def cut_to(value: object, spec: TensorSpec | Scalar) -> object:
    """A tensor in the shape of its spec; anything else as it is."""
    if not isinstance(value, torch.Tensor) or not isinstance(spec, TensorSpec):
        return value
    return value if tuple(value.shape) == spec.shape else cut(value, spec)


def same(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether two lists of tensors are equal, NaN to NaN."""
    return len(some) == len(others) and all(_equal(a, b) for a, b in zip(some, others, strict=True))


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if not one.is_floating_point() or one.shape != other.shape:
        return bool(torch.equal(one, other))
    return bool(torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True))


class ReferenceSide:
    """State of this process: the module in its variants."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._kept: list[object] = []
        self._inputs: list[TensorSpec | Scalar] = []
        self._reduced = False
        self._variants: dict[str, Call] = {}
        self._models: dict[str, torch.nn.Module] = {}

    def load(self, command: messages.LoadTask) -> messages.TaskLoaded:
        """Run the file, build the model, draw inputs twice, and describe everything as data."""
        torch.set_num_threads(command.threads)
        numerics.begin(command.numerics)
        self._source = command.source
        model = self._build()
        draws = [self._draw(seed) for seed in (1, 2)]
        self._inputs = self._describe_inputs(draws)
        self._parameters = self._describe_parameters(model)
        before = [t.clone() for t in model.state_dict().values()]
        given = [v.clone() for v in draws[0] if isinstance(v, torch.Tensor)]
        first, again, other = (self._results(model, d) for d in (draws[0], draws[0], draws[1]))
        outputs = [spec_of(f"output{i}", t) for i, t in enumerate(first)]
        kept = [v for v in draws[0] if isinstance(v, torch.Tensor)]
        after = list(model.state_dict().values())
        return messages.TaskLoaded(
            inputs=self._inputs,
            parameters=self._parameters,
            outputs=outputs,
            mutates_inputs=not same(given, kept),
            mutates_state=not same(before, after),
            random=[not same([a], [b]) for a, b in zip(first, again, strict=True)],
            finite=all(bool(torch.isfinite(t).all()) for t in [*first, *other] if t.is_floating_point()),
            init=_literal(self._arguments),
            tied=_tied(model),
            flags=numerics.told(),
        )

    def reduce(self, command: messages.ReduceTask) -> messages.TaskReduced:
        """From now on, be the same task on fewer elements, for an interpreter that is slow."""
        found = reduce_workload(self._source, command.workload)
        if found.source != self._source:
            self._source = found.source
            self._build()
        self._inputs, self._reduced = list(found.workload.inputs), True
        return messages.TaskReduced(
            workload=found.workload, description=found.description, init=_literal(self._arguments)
        )

    def graph(self, command: messages.ExportGraph) -> messages.GraphExported:
        """The OpGraph, through torch.export."""
        inputs = self._draw(1)
        self._exported, graph = export.graph(self._models["eager"], inputs, self._inputs)
        return messages.GraphExported(graph=graph)

    def draw(self, command: messages.Draw) -> messages.Described:
        """Inputs of one seed: where they lie in this process."""
        drawn = self._draw(command.seed)
        tensors = [t.contiguous() for t in drawn if isinstance(t, torch.Tensor)]
        self._kept = [tensors]
        return messages.Described(tensors=[described(t) for t in tensors])

    def state(self, command: messages.DescribeState) -> messages.Described:
        """The parameters and buffers as they were initialised."""
        tensors = [t.detach().contiguous() for t in self._models["eager"].state_dict().values()]
        self._kept = [tensors]
        return messages.Described(tensors=[described(t) for t in tensors])

    def arrange(self, command: messages.MapArena) -> Done:
        """Map the arena, which the grader could size only once it knew the inputs."""
        self._view = ArenaView(command.files[0], command.starts)
        return Done()

    def parameters(self, command: messages.TakeParameters) -> Done:
        """Take the parameters from the arena at these offsets, in every variant of the model."""
        with torch.no_grad():
            for model in self._models.values():
                self._take(model, command.offsets)
        return Done()

    def prepare(self, command: messages.Prepare) -> messages.Prepared:
        """Build a variant: `fp64`, `compile` (at its first run), or `watch`, which gives back what `nodes` compute.

        `watch fp64` does so in double precision.
        """
        variant = command.variant
        model = self._models["eager"]
        if variant == "fp64":
            self._models[variant] = copy.deepcopy(model).double()
        elif variant == "compile":
            self._variants[variant] = torch.compile(model)
        elif variant == "freeze":
            return self._frozen(command.calls)
        elif variant.startswith("watch"):
            module = copy.deepcopy(self._exported.module())
            self._models[variant] = module.double() if variant.endswith("fp64") else module
            self._variants[variant] = Watch(self._models[variant], command.nodes).results
        return messages.Prepared()

    def _frozen(self, windows: Sequence[messages.Offsets]) -> messages.Prepared:
        """torch.compile with the weights as constants: those that the model has now."""
        self._variants["freeze"] = torch.compile(
            copy.deepcopy(self._models["eager"]).requires_grad_(False), options={"freezing": True}
        )
        try:
            with torch.no_grad():
                for offsets in windows:
                    self._variants["freeze"](*self._window(self._view, offsets))
        except Exception:  # noqa: BLE001 (the task's own code, and the compiler's; told to the grader)
            return messages.Prepared(missing=traceback.format_exc(limit=-1).strip().splitlines()[-1][:300])
        return messages.Prepared()

    def run(self, command: messages.Run) -> messages.Ran:
        """Run a variant on windows of the arena; results stay alive until the next run.

        A call that names parameters too takes them first, beside the clock: `beside_ns` says how long that took.
        """
        calls = [self._window(self._view, offsets) for offsets in command.calls]
        if command.variant.endswith("fp64"):
            calls = [[double(a) for a in c] for c in calls]
        function = self._function(command.variant)
        self._kept = []
        with torch.no_grad():
            begin, beside = time.perf_counter_ns(), 0
            for offsets, arguments in zip(command.calls, calls, strict=True):
                start = time.perf_counter_ns()
                self._take_own(offsets)
                beside += time.perf_counter_ns() - start
                self._kept.append(function(*arguments))
            inside = time.perf_counter_ns() - begin - beside
        return messages.Ran(ns=inside, beside_ns=beside, results=self._described_results())

    def in_turn(self, control: socket.socket, command: messages.RunInTurn) -> messages.RanInTurn:
        """The same for calls that the grader hands over one by one; `idle` computes nothing."""
        function, idle = self._function(command.variant), command.idle
        self._kept = []
        nothing, beside = torch.zeros(1), 0

        def compute(offsets: tuple[int, ...]) -> list[int]:
            nonlocal beside
            start = time.perf_counter_ns()
            self._take_own(offsets)
            beside += time.perf_counter_ns() - start
            arguments = self._window(self._view, offsets)
            value = nothing if idle else function(*arguments)
            self._kept.append(value)
            return [t.data_ptr() for t in tensors_of(value) if t.numel()]

        with torch.no_grad():
            session.in_turn(control, command.count, compute)
        return messages.RanInTurn(beside_ns=beside, results=() if idle else self._described_results())

    def _described_results(self) -> list[list[messages.Found]]:
        results = [[t.contiguous() for t in tensors_of(value)] for value in self._kept]
        self._kept.append(results)
        return [[described(t) for t in r] for r in results]

    def _take_own(self, offsets: Sequence[int]) -> None:
        """The parameters of one call, where it has any: for eager, with which all compiled baselines share them."""
        if own := offsets[self._first_parameter :]:
            self._take(self._models["eager"], own)

    def _take(self, model: torch.nn.Module, offsets: Sequence[int]) -> None:
        state = model.state_dict()
        for i, spec in enumerate(self._parameters):
            state[spec.name].copy_(self._view.tensor(self._first_parameter + i, offsets[i], spec))

    @property
    def _first_parameter(self) -> int:
        return sum(isinstance(i, TensorSpec) for i in self._inputs)

    def _build(self) -> torch.nn.Module:
        self._task = types.ModuleType("task")
        exec(compile(self._source, "<task>", "exec"), self._task.__dict__)  # noqa: S102 (a confined child)
        _seed(0)
        self._arguments = list(self._task.get_init_inputs()) if hasattr(self._task, "get_init_inputs") else []
        model = self._task.Model(*self._arguments)
        if not isinstance(model, torch.nn.Module):
            raise TypeError("Model is not a torch.nn.Module")
        self._models = {"eager": model.to(self._device)}
        return model

    def _function(self, variant: str) -> Call:
        return self._variants[variant] if variant in self._variants else self._models[variant]

    def _window(self, view: ArenaView, offsets: Sequence[int]) -> list[object]:
        tensors = iter(enumerate(offsets))
        arguments: list[object] = []
        for spec in self._inputs:
            if isinstance(spec, Scalar):
                arguments.append(spec.value)
            else:
                index, offset = next(tensors)
                arguments.append(view.tensor(index, offset, spec))
        return arguments

    def _draw(self, seed: int) -> list[object]:
        _seed(seed)
        with torch.device(self._device):
            drawn = [v.to(self._device) if isinstance(v, torch.Tensor) else v for v in self._task.get_inputs()]
        if not self._reduced:
            # Another shape than before is the grader's to refuse.
            return drawn
        return [cut_to(v, s) for v, s in zip(drawn, self._inputs, strict=True)]

    def _results(self, model: torch.nn.Module, inputs: list[object]) -> list[torch.Tensor]:
        with torch.no_grad():
            return [t.detach().clone() for t in tensors_of(model(*inputs))]

    def _describe_inputs(self, draws: list[list[object]]) -> list[TensorSpec | Scalar]:
        names = list(inspect.signature(self._models["eager"].forward).parameters)
        specs: list[TensorSpec | Scalar] = []
        for i, values in enumerate(zip(*draws, strict=True)):
            name = names[i] if i < len(names) else f"input{i}"
            first = values[0]
            if isinstance(first, torch.Tensor):
                specs.append(with_domain(spec_of(name, first), [v for v in values if isinstance(v, torch.Tensor)]))
            elif isinstance(first, bool | int | float):
                specs.append(Scalar(name=name, value=first))
            else:
                raise TypeError(f"input {name!r} is a {type(first).__name__}; tensors and numbers can be judged")
        return specs

    def _describe_parameters(self, model: torch.nn.Module) -> list[TensorSpec]:
        learned = {name for name, _ in model.named_parameters()}
        specs = []
        for name, tensor in model.state_dict().items():
            spec = spec_of(name, tensor)
            specs.append(spec if name in learned else with_domain(spec, [tensor]))
        return specs


def _tied(model: torch.nn.Module) -> list[tuple[str, str]]:
    """Names that share all of their memory with an earlier one, as tied weights do."""
    seen: dict[tuple[int, tuple[int, ...], tuple[int, ...]], str] = {}
    found = []
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and place in seen:
            found.append((name, seen[place]))
        seen.setdefault(place, name)
    return found


def _literal(arguments: list[object]) -> str | None:
    """The constructor's arguments as Python text; None where they have no literal."""
    text = repr(arguments)
    try:
        return text if ast.literal_eval(text) == arguments else None
    except (ValueError, SyntaxError):
        return None


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def described_by(side: ReferenceSide) -> session.Handlers:
    """What a reference answers on every device."""
    return {
        messages.LoadTask: side.load,
        messages.ExportGraph: side.graph,
        messages.TakeParameters: side.parameters,
        messages.Prepare: side.prepare,
    }


def serve(control: socket.socket) -> None:
    """Answer the grader's questions about the reference."""
    side = ReferenceSide()
    computing: session.Handlers = {
        messages.ReduceTask: side.reduce,
        messages.Draw: side.draw,
        messages.DescribeState: side.state,
        messages.MapArena: side.arrange,
        messages.Run: side.run,
        messages.RunInTurn: partial(side.in_turn, control),
    }
    session.serve(control, {**described_by(side), **computing})
