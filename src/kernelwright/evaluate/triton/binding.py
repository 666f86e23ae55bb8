"""The reference's parameters in a candidate's own model, whatever its author called them.

People publish kernels whose modules rename weights, keep them in plain attributes, or pack them. Both models are built
under one seed, as KernelBench does. Then a tensor of the candidate's is one of the reference's if it has its name and
shape; or else its shape and, bit by bit, its values; or else its place, where all that is left agrees in shape. Where values
are not known, the last part of its name decides before its place does, where no other has that one and that shape. A model
that packs its weights may define `load_reference(state_dict)` and take them itself.

Tensors whose elements are all equal (biases of zeros, scales of ones) say little by their values: among those the order
decides, and plain attributes are left out.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import torch

from kernelwright import calltree
from kernelwright.evaluate.triton.fault import BuildError
from kernelwright.records.evaluation import Binding
from kernelwright.records.tensor import ITEM_BYTES

COPY = torch.Tensor.copy_
"""As it was before there was a candidate."""
PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Types of a tensor that runs no code of its own where it is copied to, which no clock sees."""
NAMES = 2_000
"""Most of a model's own tensors that are told of."""


@dataclass(frozen=True)
class Own:
    """One tensor of a model's own."""

    name: str
    tensor: torch.Tensor
    kind: str
    """`parameter`, `buffer`, or `attribute` that torch does not know as either."""


def held(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The entries of the state_dict, and then what a module holds beside them: buffers that are not saved, plain attributes.

    Of the latter those that are tensors of their own, with a type that can be judged.
    """
    found = {name: calltree.real(tensor.detach()) for name, tensor in model.state_dict().items()}
    places = set(map(place_of, found.values()))
    for one in own_tensors(model):
        dtype = str(one.tensor.dtype).removeprefix("torch.")
        spelled = "." not in one.name.partition("[")[2] and dtype in ITEM_BYTES
        if spelled and one.name not in found and place_of(one.tensor) not in places:
            found[one.name] = one.tensor.detach()
            places.add(place_of(one.tensor))
    return found


def place_of(tensor: torch.Tensor) -> tuple[int, int, torch.Size]:
    """What two tensors have in common that are the same memory in the same shape."""
    return tensor.untyped_storage()._cdata, int(tensor.storage_offset()), tensor.shape


@dataclass
class Bound:
    """A model with the tensors that stand for the reference's, by the reference's names."""

    model: torch.nn.Module
    own: dict[str, torch.Tensor]
    told: Binding
    _loaded: bool = field(default=False, init=False)

    def give(self, values: Mapping[str, torch.Tensor]) -> None:
        """Load parameters: the first time so that hooks see them, later in place, so that none sees what is to come."""
        with torch.no_grad():
            if self.told.by_method:
                self.model.load_reference(dict(values))
                return
            if not self._loaded:
                self._load(values)
                self._loaded = True
            # Nor does a mode that the model has entered.
            with torch._C.DisableTorchFunction():
                for name, tensor in self.own.items():
                    COPY(tensor, values[name])

    def _load(self, values: Mapping[str, torch.Tensor]) -> None:
        """By `load_state_dict`, for what a model does there: to pack weights, for instance."""
        places = {id(tensor): name for name, tensor in self.model.state_dict(keep_vars=True).items()}
        known = {places[id(t)]: values[name] for name, t in self.own.items() if id(t) in places}
        self.model.load_state_dict(known, strict=False)


def bind(
    model: torch.nn.Module,
    reference: Mapping[str, torch.Tensor],
    valued: bool = True,
    constants: Collection[str] = (),
) -> Bound:
    """Find the reference's parameters in a model.

    Args:
        model: as it was built, under the reference's seed.
        reference: the reference's parameters and buffers as they were built, in state_dict order.
        valued: whether values can be compared; on fake tensors they cannot.
        constants: of the reference's, those that a model may make in its own way (`Workload.constants`).

    Raises:
        BuildError: the model's `load_reference` is no function, or what stands for a parameter is no plain tensor.
    """
    taker = getattr(model, "load_reference", None)
    if taker is not None:
        if not callable(taker):
            raise BuildError("load_reference must be a method that takes a state_dict")
        return Bound(model, {}, Binding(by_method=True))
    named = {one.name: one for one in own_tensors(model)}
    by_name = {n: named[n] for n, t in reference.items() if n in named and named[n].tensor.shape == t.shape}
    free = _distinct(named, by_name)
    rest = {n: t for n, t in reference.items() if n not in by_name}
    by_value = _by_value(rest, named, free) if valued else {}
    by_last = {} if valued else _by_last_name(rest, free)
    unplaced = {n: t for n, t in rest.items() if n not in by_value and n not in by_last and n not in constants}
    by_order = _by_order(unplaced, free, guess=valued)
    by_order = {**by_last, **by_order}
    found = {**by_name, **by_value, **by_order}
    if valued:
        _must_be_plain(found)
    told = Binding(
        by_name=len(by_name),
        by_value=_pairs(by_value),
        by_order=_pairs(by_order),
        left=tuple(n for n in reference if n not in found and n not in constants),
        constant=tuple(free)[:NAMES],
    )
    return Bound(model, {n: found[n].tensor for n in reference if n in found}, told)


def _must_be_plain(found: Mapping[str, Own]) -> None:
    odd = next((one for one in found.values() if type(one.tensor) not in PLAIN), None)
    if odd is not None:
        raise BuildError(
            f"{odd.name} is a {type(odd.tensor).__name__}, not a plain tensor, into which the reference's parameter can be "
            "copied: keep it plain, or define load_reference(self, state_dict)"
        )


def own_tensors(model: torch.nn.Module) -> Iterator[Own]:
    """Parameters, buffers and plain attributes, in the order of modules; tied ones under each of their names."""
    for prefix, module in model.named_modules(remove_duplicate=False):
        stem = f"{prefix}." if prefix else ""
        kinds = (("parameter", module._parameters), ("buffer", module._buffers), ("attribute", _attributes(module)))
        for kind, tensors in kinds:
            yield from (
                Own(f"{stem}{name}", calltree.real(t.detach() if t.is_complex() else t), kind)
                for name, t in tensors.items()
                if t is not None
            )


def _distinct(named: Mapping[str, Own], bound: Mapping[str, Own]) -> dict[str, Own]:
    """What is not bound yet, each tensor under the first of its names."""
    seen = {id(one.tensor) for one in bound.values()}
    found = {}
    for name, one in named.items():
        if id(one.tensor) not in seen:
            seen.add(id(one.tensor))
            found[name] = one
    return found


def _attributes(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors that a module holds without telling torch, also in lists and dicts."""
    found = {}
    for name, value in vars(module).items():
        if name.startswith("_") and name in _OF_TORCH:
            continue
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, list | tuple):
            found |= {f"{name}[{i}]": v for i, v in enumerate(value) if isinstance(v, torch.Tensor)}
        elif isinstance(value, dict):
            found |= {f"{name}[{k!r:.80}]": v for k, v in value.items() if isinstance(v, torch.Tensor)}
    return found


_OF_TORCH = frozenset(vars(torch.nn.Module()))
"""What every module has."""


def _by_value(wanted: Mapping[str, torch.Tensor], named: Mapping[str, Own], free: dict[str, Own]) -> dict[str, Own]:
    """In order, each tensor once; but one that tells where it came from stands for all of the reference's that it equals."""
    found = {}
    for name, tensor in wanted.items():
        plain = level(tensor)
        for one in (*free.values(), *(() if plain else named.values())):
            if not (plain and one.kind == "attribute") and _equal(one.tensor, tensor):
                found[name] = one
                free.pop(one.name, None)
                break
    return found


def _equal(own: torch.Tensor, wanted: torch.Tensor) -> bool:
    if own.shape != wanted.shape or own.dtype != wanted.dtype:
        return False
    return bool(torch.equal(own.detach(), wanted.to(own.device)))


def level(tensor: torch.Tensor) -> bool:
    """Whether all elements are equal, so that they tell nothing of where they came from; so is a single one."""
    return tensor.numel() == 0 or bool((tensor == tensor.reshape(-1)[0]).all())


def _by_last_name(wanted: Mapping[str, torch.Tensor], free: dict[str, Own]) -> dict[str, Own]:
    """`weight` for `norm.weight`, where no other of the reference's or the model's has that last name and that shape."""
    found = {}
    for name, tensor in wanted.items():
        kin = [other for other, t in wanted.items() if _last(other) == _last(name) and t.shape == tensor.shape]
        own = [o for o in free.values() if _last(o.name) == _last(name) and o.tensor.shape == tensor.shape]
        if len(kin) == len(own) == 1:
            found[name] = free.pop(own[0].name)
    return found


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _by_order(wanted: Mapping[str, torch.Tensor], free: dict[str, Own], guess: bool) -> dict[str, Own]:
    """All of what is left, where it agrees in shape one by one; without `guess` only where no two shapes are the same."""
    tensors = [one for one in free.values() if one.kind != "attribute"]
    shapes = [t.shape for t in wanted.values()]
    if shapes != [one.tensor.shape for one in tensors]:
        return {}
    if not guess and len(set(shapes)) < len(shapes):
        return {}
    return {name: free.pop(one.name) for name, one in zip(wanted, tensors, strict=True)}


def _pairs(found: Mapping[str, Own]) -> tuple[str, ...]:
    return tuple(f"{one.name} = {name}"[:400] for name, one in found.items())


def unbound(told: Binding, reference: Mapping[str, torch.Size]) -> str:
    """Why a model cannot be given the reference's parameters, with the ways out."""
    missing = ", ".join(f"{name}{list(reference[name])}" for name in told.left[:20])
    own = f"; it has {', '.join(told.constant[:20])}, which are none of them" if told.constant else ""
    return (
        f"parameters do not match the reference's: nothing in the model holds {missing}{own}. Keep the reference's names, "
        "or its shapes and values when it is built, or define load_reference(self, state_dict)"
    )


def loaded(
    model: torch.nn.Module,
    values: Mapping[str, torch.Tensor],
    strict: bool = True,
    constants: Collection[str] = (),
) -> Bound:
    """A model with these parameters, where it is not known how they were built; as `bind` and `Bound.give`.

    Raises:
        BuildError: `strict`, and something of the reference's has no place while the model has nothing else to hold it.
    """
    bound = bind(model, values, valued=False, constants=constants)
    if strict and bound.told.left and not bound.told.constant:
        raise BuildError(unbound(bound.told, {name: t.shape for name, t in values.items()}))
    bound.give(values)
    return bound
