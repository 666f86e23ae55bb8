"""Which elements of timed results are looked at, and what becomes of them."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.pipeline.timed_output_check import TimedResults, UnfitInputsError
from kernelwright.evaluate.sandbox.messages.calls import ROUNDED
from kernelwright.evaluate.session import input_sensitivity
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.verify.compare import Expected
from kernelwright.evaluate.verify.finer import ALONG, ANY, NONE
from kernelwright.evaluate.verify.places import STRIPE, STRIPES
from kernelwright.records.comparator import Calibrated, Statistical, Ties
from kernelwright.records.policy import Policy
from kernelwright.records.tensor import TensorSpec

ROWS, WIDTH = 1500, 1000


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def results(rule, dtype="float32", truth=None):
    spec = TensorSpec(name="out", shape=(ROWS, WIDTH), dtype=dtype)
    graph = SimpleNamespace(outputs=(), nodes=())
    task = SimpleNamespace(
        workload=SimpleNamespace(outputs=(spec,)), comparator=lambda output: rule, graph=graph,
        numerics=SimpleNamespace(tf32=False),
    )  # fmt: skip
    session = SimpleNamespace(
        task=task, policy=Policy(), original=SimpleNamespace(infinite=()), memory=SimpleNamespace(queued=False),
        allowed=lambda output, error: 1e-6, base_error=[1e-7], cases=[],
        allowed_finer=lambda output, eagers: ANY, base_finer=[NONE], coarse=frozenset(),
        case_at=lambda distribution, offsets: truth, lines=lambda output: ALONG,
    )  # fmt: skip
    return TimedResults(session)


def taken(value, parts):
    return torch.cat([value.view(-1).narrow(0, *part) for part in parts])


def test_values_are_looked_at_in_other_stripes_each_time():
    looks = results(Calibrated())
    first, second = looks.parts(0), looks.parts(0)
    assert first != second
    assert sum(count for _, count in first) == STRIPES * STRIPE


def test_positions_are_looked_at_altogether():
    assert results(Ties(of="x", dim=1), "int64").parts(0) == ((0, ROWS * WIDTH),)


def test_random_results_are_looked_at_in_stripes_and_in_places_that_stay():
    looks = results(Statistical())
    first, second = looks.parts(0), looks.parts(0)
    assert first[:STRIPES] != second[:STRIPES]
    assert first[-100:] == second[-100:]
    assert results(Statistical()).parts(0)[-100:] != first[-100:], "another contest, other places"


@pytest.mark.parametrize("missing", [slice(0, ROWS // 20), slice(-ROWS // 20, None)], ids=["begin", "end"])
def test_a_twentieth_that_is_left_out_at_an_edge_is_always_seen(missing):
    wanted = torch.randn(ROWS, WIDTH)
    truth = Case("as given", (), (Expected(wanted.double(), 1.0, 1e-7, 1e-6),))
    looks, got = results(Calibrated(), truth=truth), wanted.clone()
    got[missing] = 0
    for _ in range(4):
        parts = looks.parts(0)
        assert looks.wrong(0, taken(wanted, parts), taken(wanted, parts), (parts, ())) is None
        assert looks.wrong(0, taken(got, parts), taken(wanted, parts), (parts, ())).because == "value"


def test_a_timed_result_is_held_to_what_a_checked_one_is():
    wanted = torch.randn(ROWS, WIDTH)
    truth = Case("as given", (), (Expected(wanted.double(), 1.0, 1e-7, 1e-6),))
    looks = results(Calibrated(), truth=truth)
    parts = looks.parts(0)
    for off, refused in ((5e-7, False), (1e-5, True)):
        got = taken(wanted * (1 + off), parts)
        assert (looks.wrong(0, got, taken(wanted, parts), (parts, ())) is not None) == refused


@pytest.mark.parametrize("missing", [0, 1])
def test_one_of_many_sums_of_both_signs_may_lose_what_one_accumulator_rounds(missing):
    torch.manual_seed(0)
    terms = torch.randn(ROWS, WIDTH)
    truth = terms.double().sum(1)
    in_turn = torch.zeros(ROWS)
    for column in terms.unbind(1)[missing:]:
        in_turn = in_turn + column
    case = Case("as given", (), (Expected(truth, float(truth.abs().median()), 1e-7, 1e-6),))
    looks = sums(terms, case)
    parts = looks.parts(0)
    found = looks.wrong(0, taken(in_turn, parts), taken(truth.float(), parts), (parts, (0,)))
    assert (found is not None) == bool(missing)


def sums(terms, truth):
    """Results of sums over rows, whose reference can be asked again."""
    looks = results(Calibrated(), truth=truth)
    session = looks._session
    session.task.workload.outputs = (TensorSpec(name="out", shape=(ROWS,), dtype="float32"),)
    more = {
        "tensors": (TensorSpec(name="x", shape=(ROWS, WIDTH), dtype="float32"),),
        "view": lambda index, offset: terms,
        "results": lambda variant, offsets: [terms.double().sum(1)],
        "reduction": lambda output: WIDTH,
        "forget_parameters": lambda: None,
        "settle": lambda: None,
    }
    vars(session).update(more)
    return looks


@pytest.mark.parametrize(
    ("tf32", "moves", "off", "refused"),
    [(True, 1e-6, 2e-6, False), (False, 1e-6, 2e-6, True), (True, 1e-7, 2e-6, True), (True, 1e-6, 9e-6, True)],
)
def test_where_eager_uses_tf32_timed_results_may_lose_what_that_moves_however_many(
    monkeypatch, tf32, moves, off, refused
):
    monkeypatch.setattr(input_sensitivity, "MANY", 1)
    wanted = torch.randn(ROWS, WIDTH)
    looks = results(Calibrated(), truth=Case("as given", (), (Expected(wanted.double(), 1.0, 1e-7, 1e-6),)))
    session = looks._session
    session.task.numerics.tf32 = tf32
    more = {
        "tensors": (), "reduction": lambda output: 1, "forget_parameters": lambda: None, "settle": lambda: None,
        "results": lambda variant, offsets: [wanted.double() * (1 + moves * (variant == ROUNDED))],
    }  # fmt: skip
    vars(session).update(more)
    parts = looks.parts(0)
    found = looks.wrong(0, taken(wanted * (1 + off), parts), taken(wanted, parts), (parts, ()))
    assert (found is not None) == refused


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_where_eager_is_not_finite_nothing_is_said_of_the_candidate(value):
    looks, parts = results(Calibrated()), ((0, 10),)
    with pytest.raises(UnfitInputsError):
        looks.wrong(0, torch.ones(10), torch.full((10,), value), (parts, ()))


def test_one_random_row_for_all_is_seen_when_the_contest_is_over():
    torch.manual_seed(0)
    looks = results(Statistical())
    for _ in range(24):
        parts = looks.parts(0)
        honest = (torch.rand(ROWS, WIDTH) < 0.5).float()
        lazy = (torch.rand(WIDTH) < 0.5).float().repeat(ROWS, 1)
        assert looks.wrong(0, taken(lazy, parts), taken(honest, parts), (parts, ())) is None
    assert "timed calls" in looks.finish().evidence
