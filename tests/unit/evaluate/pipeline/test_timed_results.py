"""Which elements of timed results are looked at, and what becomes of them."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.evaluate.pipeline.timed_output_check import TimedResults
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


def results(rule, dtype="float32"):
    spec = TensorSpec(name="out", shape=(ROWS, WIDTH), dtype=dtype)
    graph = SimpleNamespace(outputs=())
    task = SimpleNamespace(
        workload=SimpleNamespace(outputs=(spec,)), comparator=lambda output: rule, graph=graph
    )  # fmt: skip
    session = SimpleNamespace(
        task=task, policy=Policy(), memory=SimpleNamespace(queued=False),
        allowed=lambda output, error: 1e-6, base_error=[1e-7], cases=[],
        case_at=lambda distribution, offsets: None,
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
    looks, wanted = results(Calibrated()), torch.randn(ROWS, WIDTH)
    got = wanted.clone()
    got[missing] = 0
    for _ in range(4):
        parts = looks.parts(0)
        assert looks.wrong(0, taken(wanted, parts), taken(wanted, parts), (parts, ())) is None
        assert looks.wrong(0, taken(got, parts), taken(wanted, parts), (parts, ())).because == "value"


def test_one_random_row_for_all_is_seen_when_the_contest_is_over():
    torch.manual_seed(0)
    looks = results(Statistical())
    for _ in range(24):
        parts = looks.parts(0)
        honest = (torch.rand(ROWS, WIDTH) < 0.5).float()
        lazy = (torch.rand(WIDTH) < 0.5).float().repeat(ROWS, 1)
        assert looks.wrong(0, taken(lazy, parts), taken(honest, parts), (parts, ())) is None
    assert "timed calls" in looks.finish().evidence
