"""Leaves of a call in lists, dicts and by name: where a drop-in finds them, and when it does not look."""

import dataclasses
import inspect
from collections import OrderedDict, namedtuple

import pytest

from kernelwright import calltree
from kernelwright.errors import ProposeError
from kernelwright.export.calls import leaves

NAMES = ["x", "states", "mask", "extra"]
Pair = namedtuple("Pair", ["a", "b"])
Batch = dataclasses.make_dataclass("Batch", ["tokens", "mask", "pooling"])


def found(given):
    """What a drop-in sees of a call, for a forward with these names."""
    values, tree = calltree.flatten(given, NAMES)
    expressions, conditions, named = leaves(tree, ", ".join(NAMES))
    return [value for _, value in values], expressions, " and ".join(conditions), named


@pytest.mark.parametrize(
    "call",
    [
        [1.0, [2.0, (3.0, 4.0)], None],
        {"x": 1.0, "extra": {"bias": 2.0, "of": [3.0]}},
        [1.0, None, "left"],
        [{"a": {"b": (1.0,)}}],
        [Batch(1.0, None, "mean"), Pair(2.0, [3.0])],
        [OrderedDict(a=1.0, b=Pair(2.0, None))],
    ],
)
def test_expressions_find_the_leaves_in_order(call):
    values, expressions, form, named = found(call)
    scope = call if isinstance(call, dict) else dict(zip(NAMES, call, strict=False))
    assert [eval(text, {}, dict(scope)) for text in expressions] == values
    assert named == {*scope}
    assert eval(form, {}, dict(scope))


def test_a_call_of_another_form_is_not_looked_into():
    _, _, form, _ = found([1.0, [2.0, (3.0, 4.0)], None])
    others = ([1.0, [2.0], None], [1.0, (2.0, (3.0, 4.0)), None], [1.0, None, None], [1.0, [2.0, [3.0, 4.0]], None])
    for other in (*others, [1.0, [2.0, (3.0, 4.0)], 5.0]):
        assert not eval(form, {}, dict(zip(NAMES, other, strict=False)))


@pytest.mark.parametrize("call", [{"y": 1.0}, [1.0, slice(1, 2)], [1.0] * 5 + [None], [[1.0, complex(1, 2)]]])
def test_what_cannot_be_taken_apart_is_refused(call):
    with pytest.raises(ProposeError, match=r"no names for|does not take apart"):
        found(call)


BOUND = {
    "x, *rest": ((1.0, (2.0, 3.0)), {}),
    "**call": ((), {"ids": 1.0, "mask": [2.0, None]}),
    "x, *, table, scale=2.0": ((1.0,), {"table": {"a": 3.0}}),
    "x, /, *more, at=None, **others": ((1.0, 2.0), {"at": 3.0, "x": 4.0, "k": (5.0,)}),
}


@pytest.mark.parametrize("signature", BOUND)
def test_parameters_that_take_what_is_left_and_those_by_word_are_looked_into(signature):
    args, kwargs = BOUND[signature]
    values, tree = calltree.flatten(list(args), [], kwargs)
    expressions, conditions, _ = leaves(tree, signature)
    look = f"lambda {signature}: ({' and '.join(conditions) or 'True'}) and [{', '.join(expressions)}]"
    forward = eval(look, {})
    assert forward(*args, **kwargs) == [value for _, value in values]
    assert not conditions or not any(
        forward(*other, **named) for other, named in (((*args, 9.0), kwargs), (args, {**kwargs, "z": 9.0}))
        if takes(forward, other, named)
    )  # fmt: skip


def takes(forward, args, kwargs):
    try:
        inspect.signature(forward).bind(*args, **kwargs)
    except TypeError:
        return False
    return True
