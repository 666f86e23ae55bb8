"""The task's own code in its own process: inputs, the fp64 and the eager result, the compiled baseline, the OpGraph.

The task is untrusted code too. Its process sees seeds and expected results, which no candidate's process does.
"""

import copy
import inspect
import random
import secrets
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import torch

from kernelwright import calltree
from kernelwright.evaluate.entrypoints import numerics, session
from kernelwright.evaluate.entrypoints.reference import domains, export, large, ties
from kernelwright.evaluate.entrypoints.reference.effects import Effects, differences, observe
from kernelwright.evaluate.entrypoints.reference.export import Watch, leaf_spec, spec_of
from kernelwright.evaluate.entrypoints.reference.rounding import casts, fused, in_double, may_round, unrounded, variants
from kernelwright.evaluate.entrypoints.reference.slices import sliced_inputs
from kernelwright.evaluate.entrypoints.reference.symbolic import Reference, picks
from kernelwright.evaluate.entrypoints.reference.task_file import double, executed, init_arguments, literal, module_of
from kernelwright.evaluate.sandbox.arena import ArenaView, described
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import tasks
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.binding import held
from kernelwright.evaluate.triton.model import flatten
from kernelwright.evaluate.triton.reduce import cut, reduce_workload
from kernelwright.records.free_sizes import FreeSizes
from kernelwright.records.graph import ASSERTING
from kernelwright.records.tensor import Scalar, TensorSpec

if TYPE_CHECKING:
    from pydantic import JsonValue

Call = Callable[..., object] | Watch


MOST_COPIED = 1 << 31
"""Bytes of a model that is copied to be run at other sizes."""
ROUNDINGS = 1e-9
"""Relative difference of two runs in double precision that an order of adding up can make; randomness makes more."""


def cut_to(value: object, spec: TensorSpec | Scalar) -> object:
    """A tensor in the shape of its spec; anything else as it is."""
    if not isinstance(value, torch.Tensor) or not isinstance(spec, TensorSpec):
        return value
    return value if tuple(value.shape) == spec.shape else cut(value, spec)


class ReferenceSide:
    """State of this process: the module in its variants."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._kept: list[list[torch.Tensor]] = []
        self._inputs: list[TensorSpec | Scalar] = []
        self._tree: JsonValue = None
        self._result: JsonValue = None
        self._state: tuple[str, ...] = ()
        """Entries of the state_dict that forward writes to."""
        self._written: tuple[int, ...] = ()
        """Inputs that forward writes to; each call gets copies of them."""
        self._compared: tuple[int, ...] = ()
        """Those of them whose new values are outputs."""
        self._outputs: list[TensorSpec] = []
        self._infinite: tuple[int, ...] = ()
        """Results that are infinite somewhere on the first inputs."""
        self._rows: tuple[int, ...] = ()
        """Inputs that can be cut into rows together."""
        self._taken: tuple[int, ...] = ()
        """Where the parameters lie that were taken last."""
        self._reduced = False
        self._large: large.Large | None = None
        self._variants: dict[str, Call] = {}
        self._models: dict[str, torch.nn.Module] = {}

    def load(self, command: tasks.LoadTask) -> tasks.TaskLoaded:
        """Run the file, build the model, draw inputs twice, and describe everything as data."""
        torch.set_num_threads(command.threads)
        numerics.begin(command.numerics)
        self._source, self._whole, self._large = command.source, command.source, large.made_small(command)
        if self._large is None:
            return self._described(command)
        self._source, self._inputs, self._reduced = self._large.source, list(self._large.small.inputs), True
        return self._large.at_full_size(self._described(command))

    def _described(self, command: tasks.LoadTask) -> tasks.TaskLoaded:
        model = self._build()
        self._parameters = self._describe_parameters(model)
        drawn = self._draw(1)
        specs, seen = self._specs(drawn), [domains.seen_of(v) for v in drawn]
        first = self._observe(model, drawn)
        self._result = first.tree
        self._rows = sliced_inputs(partial(self._called, model), drawn, first.results) if self._may_slice(first) else ()
        self._state, self._written = first.state, first.inputs
        del drawn
        compare = command.state == "compare"
        self._compares, self._compared = compare, first.untold
        names = [*first.state, *(specs[i].name for i in first.untold)]
        values = [*first.results, *first.after] if compare else first.results
        spread = self._spread(model, values, compare)
        self._infinite, grown, broken = first.infinite, first.grown, first.broken
        self._results = len(first.results)
        outputs = self._outputs = self._describe_outputs(values, len(first.results), names)
        del first, values
        other = self._draw(2)
        self._inputs = domains.with_domains(specs, seen, [domains.seen_of(v) for v in other])
        again = self._observe(model, other)
        return tasks.TaskLoaded(
            inputs=self._inputs,
            parameters=self._parameters,
            outputs=outputs,
            tree=self._tree,
            result=self._result,
            changes=[*self._state, *(specs[i].name for i in self._written)],
            state=names if compare else (),
            constants=[spec.name for spec in self._parameters if spec.name not in model.state_dict()],
            grown=grown,
            random=[s is None for s in spread],
            spread=[s or 0.0 for s in spread],
            broken=broken or again.broken,
            infinite=sorted({*self._infinite, *again.infinite}),
            scratch_bytes=self._scratch_bytes(),
            rows_apart=bool(self._rows),
            init=literal(self._arguments),
            tied=export.tied(model),
            flags=numerics.told(),
        )

    def estimate(self, command: tasks.EstimateTask) -> tasks.Estimated:
        """How large the task is, on tensors without memory; some code cannot be run on those."""
        return tasks.Estimated(nbytes=large.nbytes(command.source))

    def reduce(self, command: messages.ReduceTask) -> messages.TaskReduced:
        """From now on, be the same task on fewer elements, for an interpreter that is slow."""
        found = reduce_workload(self._whole, command.workload, most=command.elements)
        if found.source != self._source:
            self._source = found.source
            self._build()
        self._inputs, self._reduced = list(found.workload.inputs), True
        return messages.TaskReduced(
            workload=found.workload, description=found.description, init=literal(self._arguments)
        )

    def graph(self, command: messages.ExportGraph) -> messages.GraphExported:
        """The OpGraph, through torch.export."""
        model, leaves = self._models["eager"], self._draw(1)
        called = partial(self._called, model) if self._tree else None
        try:
            self._exported, self._graph = export.graph(model, (leaves, {}), self._inputs, called)
        except Exception as error:  # noqa: BLE001 (whatever the tracer raises: the reference itself has run)
            results = self._outputs[: self._results]
            self._graph = export.untraced(self._source, self._inputs, self._parameters, results)
            log = "".join(traceback.format_exception(error))
            self._build()  # what forward keeps may be the tracer's
            return messages.GraphExported(graph=self._graph, fault=type(error).__name__, log=log)
        if self._large is not None:
            with suppress(Exception):  # the task's own code: then the graph has the shapes at which values are seen
                self._graph = large.graph_without_memory(self._whole, list(self._large.full.inputs))
        return messages.GraphExported(graph=self._graph, free=self._free_sizes(leaves) if command.sizes else None)

    def _free_sizes(self, leaves: list[object]) -> FreeSizes | None:
        """Sizes that a caller may choose, found on a copy of the model; None of what a drop-in does not serve anyway."""
        model, told = self._models["eager"], calltree.tells_sizes(self._result)
        weights = sum(t.nbytes for t in model.state_dict().values())
        if self._large is not None or told or self._state or self._written or weights > MOST_COPIED:
            return None
        try:
            own = copy.deepcopy(model)
            if self._device != "cpu" and picks(leaves, self._graph):
                # A position beyond what is there raises on a host. On a device it ends the process.
                own, leaves = own.cpu(), [v.cpu() if isinstance(v, torch.Tensor) else v for v in leaves]
            called = partial(self._called, own) if self._tree else None
            return Reference(own, leaves, self._inputs, self._graph, called).free_sizes()
        except Exception:  # noqa: BLE001 (the task's own code at other sizes: then none is known to be free)
            return None

    def widen(self, command: tasks.Widen) -> tasks.Widened:
        """Which inputs and parameters may have signs too: the reference is finite where they and all before them have."""
        if self._device != "cpu" and not ASSERTING.isdisjoint(node.op for node in self._graph.nodes):
            return tasks.Widened(inputs=(), parameters=())
        found = domains.grown(command.inputs, lambda some: all(self._defined(some, factor) for factor in (1.0, 3.0)))
        own = held(self._models["eager"])
        given = [own[self._parameters[p].name] for p in command.parameters]
        signed = domains.grown_signed(given, lambda: self._defined(found, 3.0))
        return tasks.Widened(inputs=found, parameters=[command.parameters[n] for n in signed])

    def _defined(self, signed: Sequence[int], factor: float) -> bool:
        """Whether the reference is finite on its first inputs with signs by chance, times a factor."""
        leaves = self._draw(1)
        for i in signed:
            leaf = leaves[i]
            assert isinstance(leaf, torch.Tensor)
            leaves[i] = domains.with_signs(leaf, factor)
        try:
            found = self._observe(self._models["eager"], leaves)
        except Exception:  # noqa: BLE001 (the task's own code: it is not defined there, whatever it says)
            return False
        return not found.broken and {*found.infinite} <= {*self._infinite}

    def draw(self, command: messages.Draw) -> messages.Described:
        """Inputs of one seed: where they lie in this process."""
        drawn = self._draw(command.seed)
        tensors = [t.contiguous() for t in drawn if isinstance(t, torch.Tensor)]
        self._kept = [tensors]
        return messages.Described(tensors=[described(t) for t in tensors])

    def state(self, command: messages.DescribeState) -> messages.Described:
        """The parameters and buffers as they were initialised."""
        self._kept = [self._built()]
        return messages.Described(tensors=[described(t) for t in self._kept[0]])

    def _built(self) -> list[torch.Tensor]:
        """The parameters as the model was built with them; forward may have made further ones."""
        own = held(self._models["eager"])
        return [own[spec.name].contiguous() for spec in self._parameters]

    def arrange(self, command: messages.MapArena) -> Done:
        """Map the arena, which the grader could size only once it knew the inputs."""
        self._view = ArenaView(command.files[0], command.starts)
        return Done()

    def parameters(self, command: messages.TakeParameters) -> Done:
        """Take the parameters from the arena at these offsets, in every variant of the model."""
        with torch.no_grad():
            for model in self._models.values():
                self._take(model, command.offsets)
        self._taken = command.offsets
        return Done()

    def prepare(self, command: messages.Prepare) -> messages.Prepared:
        """Build a variant: `fp64` (and its rounded ones), `compile` (at its first run), or `watch`: what `nodes` compute.

        `watch fp64` does so in double precision.
        """
        variant = command.variant
        model = self._models["eager"]
        if variant == "fp64":
            exact = self._models[variant] = copy.deepcopy(model)._apply(double)
            if casts(self._graph):
                exact.forward = unrounded(exact.forward, exact)
            exact.forward = in_double(exact.forward)
            self._variants |= variants(exact, may_round()) | ties.variants(exact) | {messages.FUSED: fused(model)}
        elif variant == "compile":
            self._variants[variant] = torch.compile(model)
        elif variant == "freeze":
            return self._frozen(command.calls)
        elif variant.startswith("watch"):
            module = self._models[variant] = copy.deepcopy(self._exported.module())
            watch = self._variants[variant] = Watch(module, command.nodes)
            if variant.endswith("fp64"):
                module._apply(double)
                if casts(self._graph):
                    watch.results = unrounded(watch.results, module)
                watch.results = in_double(watch.results)
        return messages.Prepared()

    def _frozen(self, windows: Sequence[messages.Offsets]) -> messages.Prepared:
        """torch.compile with the weights as constants: those that the model has now."""
        self._variants["freeze"] = torch.compile(
            copy.deepcopy(self._models["eager"]).requires_grad_(False), options={"freezing": True}
        )
        try:
            with torch.no_grad():
                for offsets in windows:
                    self._called(self._variants["freeze"], self._leaves_of("freeze", offsets))
        except Exception:  # noqa: BLE001 (the task's own code, and the compiler's; told to the grader)
            return messages.Prepared(missing=traceback.format_exc(limit=-1).strip().splitlines()[-1][:300])
        return messages.Prepared()

    def run(self, command: messages.Run) -> messages.Ran:
        """Run a variant on windows of the arena; results stay alive until the next run.

        A call that names parameters too takes them first, beside the clock: `beside_ns` says how long that took.
        """
        variant = command.variant
        calls = [self._leaves_of(variant, offsets) for offsets in command.calls]
        function = self._function(variant)
        self._kept = []
        with torch.no_grad():
            begin, taken, beside = time.perf_counter_ns(), 0, 0
            for offsets, leaves in zip(command.calls, calls, strict=True):
                start = time.perf_counter_ns()
                self._make_ready(variant, offsets)
                taken += time.perf_counter_ns() - start
                value = self._called(function, leaves)
                start = time.perf_counter_ns()
                self._kept.append([*flatten(value), *self._after(variant, leaves)])
                beside += time.perf_counter_ns() - start
            beside += taken
            inside = time.perf_counter_ns() - begin - beside
        return messages.Ran(ns=inside, beside_ns=beside, taken_ns=taken, results=self._described_results())

    def in_turn(self, control: socket.socket, command: messages.RunInTurn) -> messages.RanInTurn:
        """The same for calls that the grader hands over one by one; `idle` computes nothing."""
        variant, idle = command.variant, command.idle
        function = self._function(variant)
        self._kept = []
        nothing, beside = torch.zeros(1), 0

        def compute(offsets: tuple[int, ...]) -> list[int]:
            nonlocal beside
            start = time.perf_counter_ns()
            self._make_ready(variant, offsets)
            beside += time.perf_counter_ns() - start
            # A candidate copies what it writes to within its time, too.
            leaves = self._leaves_of(variant, offsets)
            value = nothing if idle else self._called(function, leaves)
            start = time.perf_counter_ns()
            kept = [*flatten(value), *(() if idle else self._after(variant, leaves))]
            beside += time.perf_counter_ns() - start
            self._kept.append(kept)
            return [t.data_ptr() for t in kept if t.numel()]

        with torch.no_grad():
            session.in_turn(control, command.count, compute)
        return messages.RanInTurn(beside_ns=beside, results=() if idle else self._described_results())

    def _described_results(self) -> list[list[messages.Found]]:
        self._kept = [[t.contiguous() for t in call] for call in self._kept]
        return [[described(t) for t in call] for call in self._kept]

    def _called(self, function: Call, leaves: Sequence[object]) -> object:
        if isinstance(function, Watch):
            return function.results(*leaves)
        args, kwargs = calltree.arguments(self._tree, leaves, vars(self._task))
        return function(*args, **kwargs)

    def _leaves_of(self, variant: str, offsets: Sequence[int]) -> list[object]:
        """The inputs of one call: in double precision if the variant is, and copies of those that it writes to."""
        leaves = self._window(self._view, offsets)
        if variant.endswith("fp64"):
            leaves = [double(leaf) for leaf in leaves]
        for i in self._written:
            leaf = leaves[i]
            assert isinstance(leaf, torch.Tensor)
            leaves[i] = leaf.clone()
        return leaves

    def _make_ready(self, variant: str, offsets: Sequence[int]) -> None:
        """The parameters of one call; without any of its own, what calls before it changed is put back."""
        if own := offsets[self._first_parameter :]:
            # All compiled baselines share eager's.
            self._take(self._models["eager"], own)
        elif self._state and self._taken:
            self._take(self._module(variant), self._taken, self._state)

    def _after(self, variant: str, leaves: Sequence[object]) -> list[torch.Tensor]:
        """New values of what the last call wrote to, where they are outputs."""
        if not self._compares:
            return []
        state = self._module(variant).state_dict()
        inputs = [leaf for i in self._compared if isinstance(leaf := leaves[i], torch.Tensor)]
        return [*(calltree.real(state[name].detach()).clone() for name in self._state), *inputs]

    def _take(self, model: torch.nn.Module, offsets: Sequence[int], names: Sequence[str] = ()) -> None:
        """Copy the parameters at these offsets into a variant: all of them, or those of these names."""
        state = model.state_dict()
        for i, spec in enumerate(self._parameters):
            if spec.name in (names or state):
                calltree.real(state[spec.name]).copy_(self._view.tensor(self._first_parameter + i, offsets[i], spec))

    @property
    def _first_parameter(self) -> int:
        return sum(isinstance(i, TensorSpec) for i in self._inputs)

    def _build(self) -> torch.nn.Module:
        self._task = executed(self._source)
        _seed(0)
        self._arguments = init_arguments(self._task)
        model = module_of(self._task.Model, self._arguments)
        self._models = {"eager": model.to(self._device)}
        return model

    def _function(self, variant: str) -> Call:
        return self._variants[variant] if variant in self._variants else self._models[variant]

    def _module(self, variant: str) -> torch.nn.Module:
        """Whose parameters a variant reads: compiled baselines have eager's, rounded references fp64's."""
        return self._models.get("fp64" if variant in messages.DOUBLES else variant, self._models["eager"])

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
            draw = self._task.get_inputs
            drawn = draw() if self._large is None else self._large.drawn(draw, self._inputs)
        names = list(inspect.signature(self._models["eager"].forward).parameters)
        found, self._tree = calltree.flatten(drawn, names)
        self._names = [name for name, _ in found]
        leaves = [v.detach().to(self._device) if isinstance(v, torch.Tensor) else v for _, v in found]
        if not self._reduced:
            # Another shape than before is the grader's to refuse.
            return leaves
        return [cut_to(v, s) for v, s in zip(leaves, self._inputs, strict=True)]

    def _observe(self, model: torch.nn.Module, leaves: list[object]) -> Effects:
        return observe(model, lambda: self._called(model, leaves), leaves)

    def _spread(self, model: torch.nn.Module, first: list[torch.Tensor], compare: bool) -> list[float | None]:
        """How far a second run on the same inputs is from the first, output by output; None: it is random.

        What differs in single precision by an order of adding up alone does not differ in double precision.
        """
        found = differences(first, self._values(model, compare))
        if not any(found):
            return list(found)
        precise = copy.deepcopy(model)._apply(double)
        one, two = (self._values(precise, compare, double) for _ in range(2))
        rounded = [d <= ROUNDINGS for d in differences(one, two)]
        kept = [d if isfinite(d) else 0.0 for d in found]
        return [k if is_noise else None for k, is_noise in zip(kept, rounded, strict=True)]

    def _values(
        self, model: torch.nn.Module, compare: bool, convert: Callable[[object], object] = lambda v: v
    ) -> list[torch.Tensor]:
        """All outputs of a call on the first inputs, drawn again: the last call may have written to them."""
        leaves = [convert(v) for v in self._draw(1)]
        # The draw has set the seed: what is random in forward must not come out the same for that.
        _seed(secrets.randbits(32))
        effects = self._observe(model, leaves)
        return [*effects.results, *effects.after] if compare else effects.results

    def _may_slice(self, effects: Effects) -> bool:
        """Whether slices are worth trying: a CPU has room for the whole, and what is written to has no rows of its own."""
        return self._device != "cpu" and not effects.state and not effects.inputs

    def _scratch_bytes(self) -> int:
        """What a call took beside inputs, parameters and results."""
        return 0

    def _specs(self, leaves: list[object]) -> list[TensorSpec | Scalar]:
        return [leaf_spec(name, leaf) for name, leaf in zip(self._names, leaves, strict=True)]

    def _describe_outputs(self, values: list[torch.Tensor], results: int, names: list[str]) -> list[TensorSpec]:
        called = [*(f"output{i}" for i in range(results)), *(f"{name}.after" for name in names)]
        return [spec_of(name, value) for name, value in zip(called, values, strict=False)]

    def _describe_parameters(self, model: torch.nn.Module) -> list[TensorSpec]:
        learned = {name for name, _ in model.named_parameters()}
        specs = []
        for name, tensor in held(model).items():
            spec = spec_of(name, tensor)
            specs.append(spec if name in learned else domains.with_domain(spec, [domains.evidence(tensor)]))
        return specs


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def described_by(side: ReferenceSide) -> session.Handlers:
    """What a reference answers on every device."""
    return {
        tasks.LoadTask: side.load,
        messages.ExportGraph: side.graph,
        tasks.Widen: side.widen,
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
