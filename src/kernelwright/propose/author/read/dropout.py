"""Dropout as an expression: whether an element stays is worked out from a seed and its place, wherever it is read.

So no mask is stored, what is made of the result is made in the same kernel, and two kernels that drop one tensor agree.
PyTorch draws the seed for each call, so that `torch.manual_seed` governs it.
"""

from collections.abc import Mapping

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import Call
from kernelwright.propose.author.ir.positions import flattened
from kernelwright.propose.author.read.builder import Arguments, Builder, Rule, Value
from kernelwright.records.graph import Argument, OpNode
from kernelwright.records.tensor import TensorSpec

DROPOUTS: Mapping[str, int | None] = {"aten.dropout.default": None, "aten.feature_dropout.default": 2}
"""How many dimensions, from the first, have a chance for each of their places; None: all of them."""
SELF_NORMALISING = ("aten.alpha_dropout.default", "aten.feature_alpha_dropout.default")
"""Dropouts that are read only where they drop nothing."""
CHANCES = 2**31
"""How many random numbers there are, from zero on."""
SEED_BYTES = 8


def drops(a: Arguments) -> bool:
    """Whether chance decides anything."""
    return a.flag("train", default=True) and a.number("p", 0.5) > 0


def _whole(b: Builder, a: Arguments) -> Value:
    if drops(a):
        raise ProposeError("dropout in training mode, which is random")
    return a.subject()


UNDROPPED: Mapping[str, Rule] = dict.fromkeys((*DROPOUTS, *SELF_NORMALISING), _whole)
"""How they are read where nothing is dropped."""


def seed_of(node: OpNode) -> OpNode:
    """The operation that draws a dropout's seed."""
    given = {"high": CHANCES, "size": (1,), "dtype": "int64", "device": "cuda"}
    seed = TensorSpec(name=f"{node.name}.seed", shape=(1,), dtype="int64")
    arguments = tuple(Argument(name=name, value=value) for name, value in given.items())
    return OpNode(
        name=seed.name, op="aten.randint.default", arguments=arguments, result=(seed,), bytes=SEED_BYTES, flops=1
    )


def dropped(b: Builder, a: Arguments, seed: Value, dims: int | None) -> Value:
    """The elements that stay, scaled so that the mean does; zeros for the others."""
    x, p = a.subject(), a.number("p", 0.5)
    shape = x.shape[:dims]
    place = flattened([b.position(dim) for dim in shape], [b.axes.size(dim) for dim in shape])
    number = b.new(Call("random", (seed.expr, place), "int"), (*shape, *((),) * (len(x.shape) - len(shape))))
    stays = number >= round(p * CHANCES)
    return b.call("where", stays, x * (1.0 / (1.0 - p) if p < 1 else 0.0), 0.0)
