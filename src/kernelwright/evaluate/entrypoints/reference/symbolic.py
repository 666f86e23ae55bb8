"""Which sizes of the reference are free: exported once more with symbolic sizes, and run at others. Inside its own process.

A dimension of an input is free where `torch.export` leaves it a symbol (`Dim.AUTO`), what follows from it in the graph can be
written down, and the reference, run at other sizes, gives what the symbolic program gives. Inputs of other sizes hold the
rows of the drawn ones, again from the start where there are more, so that positions and labels stay in range.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from kernelwright import calltree
from kernelwright.evaluate.entrypoints.reference import export
from kernelwright.records.free_sizes import FreeAxis, FreeSizes
from kernelwright.records.graph import ASSERTING, OpGraph
from kernelwright.records.tensor import Scalar, TensorSpec
from kernelwright.tasks.free_axes import followed, points, shapes_and_graph
from kernelwright.tracing import Called, functionalised, traced

MOST_NODES = 2000
"""Of larger graphs nothing is said: each is looked at several times."""
MOST_AXES = 4
LARGEST = 1 << 26
"""Elements of the inputs at which the reference is run once more; larger ones are tried at small sizes alone."""
NEAR = 1e-2
"""What the results of two ways of computing them may differ by, of their mean size: halves have few digits."""
Symbols = Mapping[Any, int]


def picks(leaves: Sequence[object], graph: OpGraph) -> bool:
    """Whether positions or labels are among the inputs, or an operation asserts what its inputs are."""
    whole = any(isinstance(v, torch.Tensor) and not v.is_floating_point() for v in leaves)
    return whole or not ASSERTING.isdisjoint(node.op for node in graph.nodes)


class Reference:
    """A reference with a call of it, and the graph that it has for that call."""

    def __init__(
        self,
        model: torch.nn.Module,
        leaves: Sequence[object],
        specs: Sequence[TensorSpec | Scalar],
        graph: OpGraph,
        called: Called | None,
    ) -> None:
        self._model, self._leaves, self._specs, self._graph, self._called = model, leaves, specs, graph, called

    def free_sizes(self) -> FreeSizes | None:
        """The free sizes; None where there are none.

        Raises:
            Exception: whatever torch.export and the reference say of symbolic and of other sizes.
        """
        if len(self._graph.nodes) > MOST_NODES or self._graph.untraced:
            return None
        self._program = traced(self._model, self._leaves, {}, self._called, symbolic=True)
        if export.described(self._model, _concrete(self._program, self._symbols()), self._specs) is None:
            self._program = functionalised(self._program)
        found = self._places()
        for groups in _groupings(found):
            axes = [FreeAxis(name=f"size{n}", size=found[group[0]][0]) for n, group in enumerate(groups)]
            least = self._least(groups, axes) if axes else None
            if least is None:
                continue
            limited = [
                a.model_copy(update={"low": least, "high": self._high(g)}) for a, g in zip(axes, groups, strict=True)
            ]
            if free := self._follows(groups, limited):
                return free
        return None

    def _places(self) -> dict[Any, tuple[int, int]]:
        """The symbols of the inputs in order, with their traced sizes and the dimension where they come first."""
        found: dict[Any, tuple[int, int]] = {}
        for value, leaf in zip(self._taken(), self._leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                for dim, (size, n) in enumerate(zip(value.shape, leaf.shape, strict=True)):
                    if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                        found.setdefault(size.node.expr, (n, dim))
        return found

    def _symbols(self) -> dict[Any, int]:
        return {symbol: size for symbol, (size, _) in self._places().items()}

    def _taken(self) -> list[Any]:
        """What the program says of each leaf."""
        values = {n.name: n.meta.get("val") for n in self._program.graph.nodes if n.op == "placeholder"}
        return [values.get(n) if isinstance(n, str) else n for n in self._program.graph_signature.user_inputs]

    def _high(self, group: Sequence[Any]) -> int | None:
        """The least upper bound that the program has for a symbol of the group."""
        ranges = [r for symbol, r in self._program.range_constraints.items() if symbol in group]
        bounds = [int(r.upper) for r in ranges if r.upper.is_Integer and int(r.upper) < 1 << 31]
        return min(bounds, default=None)

    def _least(self, groups: Sequence[Sequence[Any]], axes: Sequence[FreeAxis]) -> int | None:
        """The least size for which reference and program agree: one or two; None where they do not at others either."""
        small = {s: 3 + 2 * n for n, group in enumerate(groups) for s in group}
        more = {s: axis.size + 1 + n for n, (group, axis) in enumerate(zip(groups, axes, strict=True)) for s in group}
        ways = [
            small,
            *([more] if sum(t.numel() for t in self._at(more) if isinstance(t, torch.Tensor)) < LARGEST else []),
        ]
        if not all(self._agrees(way) for way in ways):
            return None
        return 1 if self._agrees(dict.fromkeys(small, 1)) else 2

    def _agrees(self, symbols: Symbols) -> bool:
        """Whether the reference gives what the program gives at these sizes."""
        given = self._at(symbols)
        devices = {t.device for t in given if isinstance(t, torch.Tensor) and t.is_cuda}
        try:
            with torch.random.fork_rng(devices), torch.no_grad():
                torch.manual_seed(0)
                wanted = calltree.tensors(self._model(*given) if self._called is None else self._called(given))
                torch.manual_seed(0)
                ours = _Unchecked(self._program).results(given)
        except Exception:  # noqa: BLE001  (whatever either says of such sizes: they are none of the task's)
            return False
        return len(ours) == len(wanted) and all(map(_close, ours, wanted))

    def _at(self, symbols: Symbols) -> list[object]:
        """The leaves at other sizes."""
        known = self._symbols() | dict(symbols)
        return [
            _resized(leaf, [_number(size, known) for size in value.shape]) if isinstance(leaf, torch.Tensor) else leaf
            for value, leaf in zip(self._taken(), self._leaves, strict=True)
        ]

    def _follows(self, groups: Sequence[Sequence[Any]], axes: Sequence[FreeAxis]) -> FreeSizes | None:
        """What follows from the axes in the graph; all other symbols are as they were."""
        sizes = [{s: p[a.name] for a, group in zip(axes, groups, strict=True) for s in group} for p in points(axes)]
        others = [self._tree(one) for one in sizes]
        traced_now = self._tree({})
        plain = shapes_and_graph(
            [_shape(i.name, getattr(i, "shape", ())) for i in self._specs], traced_now["outputs"],
            self._graph.model_dump(mode="json")["nodes"],
        )  # fmt: skip
        return followed(axes, plain, others) if traced_now == plain else None

    def _tree(self, symbols: Symbols) -> dict[str, Any]:
        """Shapes and graph at these sizes, with the names of the plain graph."""
        shim = _concrete(self._program, self._symbols() | dict(symbols))
        graph = export.described(self._model, shim, self._specs)
        nodes: Any = [] if graph is None else graph.model_dump(mode="json")["nodes"]
        names = {a["name"]: b.name for a, b in zip(nodes, self._graph.nodes, strict=False)}
        made = {r["name"]: r["shape"] for node in nodes for r in node["result"]}
        outputs = [
            _shape(n, made.get(o, ()))
            for n, o in zip(self._graph.outputs, graph.outputs if graph else (), strict=False)
        ]
        known = self._symbols() | dict(symbols)
        sizes = [[_number(size, known) for size in getattr(value, "shape", ())] for value in self._taken()]
        inputs = [_shape(spec.name, shape) for spec, shape in zip(self._specs, sizes, strict=True)]
        return shapes_and_graph(inputs, outputs, [_renamed(node, names) for node in nodes])


class _Unchecked(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a program without what it asserts of sizes."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        super().__init__(program.graph_module)
        self._program = program

    def results(self, leaves: Sequence[object]) -> tuple[torch.Tensor, ...]:
        """What it gives for the leaves of a call, without what it writes."""
        signature, given = self._program.graph_signature, iter(leaves)
        held = {**self._program.state_dict, **self._program.constants}
        targets = {s.arg.name: s.target for s in signature.input_specs if s.kind.name != "USER_INPUT"}
        nodes = [n for n in self._program.graph.nodes if n.op == "placeholder"]
        found = self.run(*(held[targets[n.name]] if n.name in targets else next(given) for n in nodes))
        kinds = [spec.kind.name == "USER_OUTPUT" for spec in signature.output_specs]
        return tuple(value for value, own in zip(found, kinds, strict=True) if own)

    def run_node(self, n: torch.fx.Node) -> object:
        """As the interpreter does, but for assertions."""
        return None if "_assert" in str(n.target) or "sym_constrain" in str(n.target) else super().run_node(n)


def _groupings(found: Mapping[Any, tuple[int, int]]) -> Iterator[list[list[Any]]]:
    """Symbols that are one axis: those alike in size and place, as queries and keys have them; or each its own; ever fewer."""
    alike: dict[tuple[int, int], list[Any]] = {}
    for symbol, place in found.items():
        alike.setdefault(place, []).append(symbol)
    each = [[symbol] for symbol in found]
    for count in range(min(MOST_AXES, len(each)), 0, -1):
        if count <= len(alike):
            yield list(alike.values())[:count]
        if len(alike) < len(each):
            yield each[:count]


def _resized(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    for dim, size in enumerate(shape):
        if size != tensor.shape[dim]:
            tensor = tensor.index_select(dim, torch.arange(size, device=tensor.device) % tensor.shape[dim])
    return tensor


def _number(value: Any, symbols: Symbols) -> Any:  # noqa: ANN401  a number of the same kind
    """A number without symbols."""
    if not isinstance(value, calltree.SYMBOLS):
        return value
    worth = value.node.expr.subs(dict(symbols))
    return (
        bool(worth)
        if isinstance(value, torch.SymBool)
        else int(worth)
        if isinstance(value, torch.SymInt)
        else float(worth)
    )


def _close(ours: torch.Tensor, wanted: torch.Tensor) -> bool:
    if ours.shape != wanted.shape or ours.dtype != wanted.dtype:
        return False
    a, b = ours.detach().double(), wanted.detach().double()
    near = NEAR * float(b[b.isfinite()].abs().mean()) if bool(b.isfinite().any()) else 0.0
    return bool(torch.allclose(a, b, rtol=NEAR, atol=near, equal_nan=True))


def _shape(name: str, shape: Sequence[int]) -> dict[str, Any]:
    return {"name": name, "shape": [int(n) for n in shape]}


def _renamed(node: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A node with its own name, and those that it refers to, as the plain graph has them."""
    name = node["name"]
    result = [{**r, "name": r["name"].replace(name, names.get(name, name), 1)} for r in node["result"]]
    arguments = [{**a, "value": _refs(a["value"], names)} for a in node["arguments"]]
    return {**node, "name": names.get(name, name), "result": result, "arguments": arguments}


def _refs(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, list):
        return [_refs(one, names) for one in value]
    return {"ref": names.get(value["ref"], value["ref"])} if isinstance(value, dict) and "ref" in value else value


def _concrete(program: torch.export.ExportedProgram, symbols: Symbols) -> Any:  # noqa: ANN401
    """What `export.described` reads of a program, with numbers for its symbols."""
    graph = copy.deepcopy(program.graph)
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) and node.op == "call_function":
            number = _number(value, symbols)
            for user in list(node.users):
                user.args = torch.fx.map_arg(user.args, lambda a, n=node, v=number: v if a is n else a)
                user.kwargs = torch.fx.map_arg(user.kwargs, lambda a, n=node, v=number: v if a is n else a)
            graph.erase_node(node)
        elif "_assert" in str(node.target) or "sym_constrain" in str(node.target):
            graph.erase_node(node)
        else:
            node.meta["val"] = _plain(value, symbols)
    return SimpleNamespace(
        graph=graph, graph_signature=program.graph_signature, constants=program.constants, state_dict=program.state_dict
    )


def _plain(value: object, symbols: Symbols) -> object:
    """A value of a node without symbols."""
    if isinstance(value, torch.Tensor):
        return torch.empty([_number(size, symbols) for size in value.shape], dtype=value.dtype, device="meta")
    return [_plain(one, symbols) for one in value] if isinstance(value, list | tuple) else _number(value, symbols)
