"""Where rounding decides what serial code gives, a kernel may give the other; and nothing more than that."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.sandbox.messages.calls import FUSED
from kernelwright.evaluate.session.input_sensitivity import Elements
from kernelwright.evaluate.session.open_edges import FEW_OF, LEAP, settled, without_leaps
from kernelwright.evaluate.session.open_ties import forgive
from kernelwright.evaluate.verify import compare

CALL = SimpleNamespace(nodes=[SimpleNamespace(op="serial.graph.default")])
HERE, SIZE = Elements(0, ()), 8192
EDGES = list(range(100, SIZE, 512))


class Session:
    """Whose function takes another way on some elements where its products are fused."""

    def __init__(self, value, other=None, serial="void f(float *x)"):
        self.value, self.other, self.asked = value, value if other is None else other, []
        source, numerics = SimpleNamespace(serial=serial), SimpleNamespace(tf32=False)
        self.task = SimpleNamespace(source=source, graph=CALL, numerics=numerics)
        self.tensors = ()

    def results(self, variant, offsets):
        self.asked.append(variant)
        return [(self.other if variant == FUSED else self.value).clone()]

    def reduction(self, output):
        return 1

    def forget_parameters(self):
        """Nothing to forget."""

    def settle(self):
        """Nothing to wait for."""

    def refuses(self, got):
        allowed = 1e-6 if self.value.is_floating_point() else 0.0
        expected = compare.Expected(self.value, compare.scale_of(self.value), 1e-7, allowed)
        return forgive(self, expected, HERE, got, expected.judge([got]))[1] is not None


def on_edges(value, by=5, places=None):
    other = value.clone()
    other[EDGES if places is None else places] += by
    return other


@pytest.fixture(params=[torch.int32, torch.float32], ids=["counts", "values"])
def value(request):
    torch.manual_seed(1)
    return (torch.rand(SIZE) * 50 + 1).to(request.param)


def test_what_fusing_gives_is_right(value):
    other = on_edges(value)
    assert not Session(value, other).refuses(other)
    assert Session(value).refuses(other)


def test_between_the_two_ways_and_as_far_beyond_is_right_and_further_is_not(value):
    session = Session(value, on_edges(value))
    assert not session.refuses(on_edges(value, 3))
    assert not session.refuses(on_edges(value, 9))
    assert not session.refuses(on_edges(value, -4))
    assert session.refuses(on_edges(on_edges(value, 500), 7, [EDGES[0] + 1]))


def test_as_many_elements_may_differ_besides_where_edges_are(value):
    session = Session(value, on_edges(value))
    assert not session.refuses(on_edges(value, 40, [e + 7 for e in EDGES]))
    assert session.refuses(on_edges(value, 40, [e + k for e in EDGES for k in (7, 9)]))


def test_what_is_left_out_lies_together_and_is_wrong(value):
    session = Session(value, on_edges(value))
    assert session.refuses(on_edges(value, 40, list(range(SIZE - len(EDGES), SIZE))))


def test_many_are_not_looked_at(value):
    session = Session(value, on_edges(value, places=list(range(0, SIZE, 2))))
    assert session.refuses(on_edges(value, 40, list(range(0, SIZE, 3))))
    assert session.asked == []


def test_never_more_than_a_few_for_which_nothing_shows(value):
    edges = list(range(0, SIZE, 32))
    session = Session(value, on_edges(value, places=edges))
    assert not session.refuses(
        on_edges(value, 40, [e + 3 for e in edges[:: 32 * len(edges) // SIZE * 8]][: SIZE // FEW_OF])
    )
    assert session.refuses(on_edges(value, 40, [e + 3 for e in edges[::2]]))


def test_code_without_floats_has_no_edges(value):
    other = on_edges(value)
    session = Session(value, other, serial="void f(int *x)")
    assert session.refuses(other)
    assert settled(session, compare.Expected(value, 1.0, 0.0, 0.0), HERE, other) is None


def test_no_nan_is_right_on_an_edge():
    value = torch.rand(SIZE)
    session = Session(value, on_edges(value))
    got = value.clone()
    got[EDGES[0]] = float("nan")
    assert session.refuses(got)


def test_few_leaps_are_no_measure_and_many_are():
    value = torch.rand(SIZE, dtype=torch.float64) + 1
    task, scale = Session(value).task, compare.scale_of(value)
    few, many = on_edges(value * (1 + 1e-7)), on_edges(value, places=list(range(0, SIZE, 100)))
    assert compare.largest_error(without_leaps(task, few, value, scale), value, scale) < 1e-6 < LEAP
    assert torch.equal(without_leaps(task, many, value, scale), many)
    plain = SimpleNamespace(graph=SimpleNamespace(nodes=[SimpleNamespace(op="aten.relu.default")]))
    assert torch.equal(without_leaps(plain, few, value, scale), few)
