"""A right kernel is not held to an order of equal values that PyTorch leaves open; a wrong one stays wrong."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import one_hot

from kernelwright.evaluate.entrypoints.reference.ties import Otherwise
from kernelwright.evaluate.session.input_sensitivity import Elements
from kernelwright.evaluate.session.open_ties import forgive
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.exact import Stepped

HERE = Elements(0, ())


@pytest.fixture(autouse=True)
def chance():
    torch.manual_seed(0)


def top(probabilities, key=None):
    """The two best of eight, found by another key where one is given."""
    return torch.topk(probabilities if key is None else key, 2, dim=-1).indices


def router_loss(x, chosen):
    return 8 * (one_hot(chosen, 8).sum(1).to(x).mean(0) * x.mean(0)).sum()


def mask(x, chosen):
    return one_hot(chosen, 8).sum(1)


def filtered(x, chosen):
    return torch.full_like(x, float("-inf")).scatter(-1, chosen, x.gather(-1, chosen))


def by_sort(x):
    return torch.sort(x, dim=-1, descending=True).indices[:, :2]


FORMS = {
    "a loss": (router_loss, top),
    "a mask": (mask, top),
    "a filter": (filtered, top),
    "of a sort": (mask, by_sort),
    "tokens in groups": (lambda x, chosen: chosen.flatten().bincount(minlength=8).to(x).softmax(0) * 3, top),
}


class Session:
    """Whose reference derives a result from the two best of each row."""

    def __init__(self, x, form, op="aten.topk.default"):
        self.x, (self.derive, self.picks), self.asked = x, FORMS[form], []
        nodes = [SimpleNamespace(op=op)]
        graph = SimpleNamespace(outputs=("out",), nodes=nodes, behind=lambda name: nodes)
        self.task = SimpleNamespace(graph=graph, numerics=SimpleNamespace(tf32=False))
        self.tensors = ()

    def results(self, variant, offsets):
        self.asked.append(variant)
        if variant == "fp64":
            return [self.derive(self.x, self.picks(self.x))]
        with Otherwise(variant.split()[0]):
            return [self.derive(self.x, self.picks(self.x))]

    def reduction(self, output):
        return 8

    def forget_parameters(self):
        """Nothing to forget."""

    def settle(self):
        """Nothing to wait for."""

    def refuses(self, got):
        (value,) = self.results("fp64", ())
        allowed = 1e-6 if value.is_floating_point() else 0.0
        expected = compare.Expected(value, compare.scale_of(value), 1e-7, allowed)
        return forgive(self, expected, HERE, got, expected.judge([got]))[1] is not None


def tied(rows=64):
    x = torch.rand(rows, 8, dtype=torch.float64) + 0.1
    x[: rows // 2] = x[: rows // 2, :1]
    x[rows // 2 : rows // 2 + 8, 3] = x[rows // 2 : rows // 2 + 8].amax(-1)
    return x


def untied():
    return torch.rand(64, 8, dtype=torch.float64) + 0.1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("which", ["first", "last", "any"])
def test_any_pick_among_equal_values_is_right(form, which):
    session = Session(tied(), form)
    derive, picks = FORMS[form]
    with Otherwise(which):
        got = derive(session.x, picks(session.x))
    assert not session.refuses(got)


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_pick_is_found_where_nothing_ties(form):
    x, derive = untied(), FORMS[form][0]
    assert Session(x, form).refuses(derive(x, top(x, key=-x)))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 0.0, 100.0])
def test_where_values_tie_nonsense_is_refused(wrong):
    session = Session(tied(), "a loss")
    assert session.refuses(torch.tensor(wrong, dtype=torch.float64))


def test_rows_that_do_not_tie_are_held_to_what_they_are():
    session = Session(tied(), "a mask")
    got = session.derive(session.x, top(session.x))
    got[-1] = got[-1].flip(0)
    assert session.refuses(got)


def test_values_as_near_as_rounding_tells_are_a_tie():
    x = untied()
    x[5, 2] = x[5].topk(2).values[1] * (1 - 1e-8)
    got = mask(x, top(x.float().double() * (1 + 1e-7 * torch.rand_like(x))))
    assert not Session(x, "a mask").refuses(got)


def test_an_operation_that_promises_an_order_is_held_to_it():
    x = tied()
    session = Session(x, "a mask", op="aten.argmax.default")
    with Otherwise("last"):
        got = mask(x, top(x))
    assert session.refuses(got)
    assert "last fp64" not in session.asked


def test_integers_that_rounding_decides_are_held_to_bounds_as_well():
    session = Session(tied(), "a mask")
    with Otherwise("last"):
        got = session.derive(session.x, top(session.x))
    (value,) = session.results("fp64", ())
    expected = Stepped(value, 0.0, 0.0)
    assert expected.judge([got])[1] is not None
    assert forgive(session, expected, HERE, got, expected.judge([got]))[1] is None
    far = got + 7
    assert forgive(session, expected, HERE, far, expected.judge([far]))[1] is not None
