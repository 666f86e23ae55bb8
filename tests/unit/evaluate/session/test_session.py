"""A session through the real sandbox: where inputs lie, what is expected of them, what was dropped and why."""

import itertools

import pytest
import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.sandbox.messages.calls import Run
from kernelwright.evaluate.timing.input_synthesis import FreshInputs
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.distributions import SPREADS
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource
from kernelwright.records.tensor import Domain, Scalar

CPU = Target(kind="cpu", arch="native", present=True)
SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.linear = nn.Linear(width, 8)
        self.register_buffer("shift", torch.zeros(8))
        self.eps = eps

    def forward(self, x, p, rows, scale):
        gate = p[rows].square().sum(-1, keepdim=True)
        return torch.relu(self.linear(x)) * gate * scale + self.shift + self.eps, rows + 1, x.exp().mean()


def get_inputs():
    return [torch.randn(16, 32), torch.rand(20, 4).softmax(-1), torch.randint(0, 20, (16,)), 2.0]


def get_init_inputs():
    return [32, 0.5]
"""
X, P, ROWS, SHIFT, WEIGHT, BIAS = range(6)
KINDS = ("rows of every kind", "columns of every kind")


@pytest.fixture(scope="module")
def session(backend):
    source = TaskSource(name="tiny", format="kernelbench", source=SOURCE)
    opened = admit.open_session(backend, source, CPU, Policy(), close_oldest=print)
    yield opened
    opened.close()


def tensors(session, case):
    """Copies of the inputs and parameters of a case."""
    return [session.view(i, offset).clone() for i, offset in enumerate(case.offsets)]


def forward(x, p, rows, shift, weight, bias):
    hidden = torch.relu(x.double() @ weight.double().T + bias.double())
    gate = p.double()[rows].square().sum(-1, keepdim=True)
    return hidden * gate * 2.0 + shift.double() + 0.5, rows + 1, x.double().exp().mean()


def test_the_task_is_described_as_data(session):
    workload = session.task.workload
    assert [t.name for t in workload.tensors] == ["x", "p", "rows"]
    assert [t.domain for t in workload.tensors] == [Domain.REAL, Domain.PROBABILITY, Domain.INDEX]
    assert workload.tensors[ROWS].bound == 20
    assert workload.inputs[3] == Scalar(name="scale", value=2.0)
    assert [p.name for p in workload.parameters] == ["shift", "linear.weight", "linear.bias"]
    assert [(o.shape, o.dtype) for o in workload.outputs] == [((16, 8), "float32"), ((16,), "int64"), ((), "float32")]
    assert session.task.graph.nodes


def test_seeds_come_first_and_then_the_regimes_that_the_domains_admit(session):
    names = [case.distribution for case in session.cases]
    meant = ["in order", "far from zero", "rows of every kind", "columns of every kind"]
    scaled = ["times 3", "times 0.01", "negated", "small integers"]
    assert names == ["as given"] * 5 + scaled + meant + ["unaligned pointers"]


def test_a_regime_in_which_the_reference_is_not_finite_is_dropped_and_named(session):
    assert session.dropped == ["one huge element: of the fp64 reference output 2 is inf at []"]


def test_what_is_expected_is_the_fp64_result_of_what_lies_there(session):
    for case in session.cases:
        wanted = forward(*tensors(session, case))
        for expected, value in zip(case.expected, wanted, strict=True):
            assert compare.judge(value, expected)[1] is None, case.distribution
            assert expected.reference_error <= 1e-5


def test_a_candidate_may_err_k_times_as_the_worst_seed_and_a_few_ulps(session):
    for case in session.cases:
        for i, (expected, spec) in enumerate(zip(case.expected, session.task.workload.outputs, strict=True)):
            worst = max(session.base_error[i], expected.reference_error)
            exponentials = compare.adds_exponentials(session.task.graph, i)
            in_turn = compare.walk(session.reduction(i)) if exponentials else 0
            if case.distribution == "small integers":
                in_turn = compare.ONE_BY_ONE
            if case.distribution in ("one huge element", "in order", "far from zero", *KINDS):
                in_turn = compare.lane(session.reduction(i))
            floor = compare.floor(spec, session.reduction(i), in_turn=in_turn)
            far = case.distribution == "far from zero" and expected.reference_error > 4 * session.base_error[i]
            # What a mean of values misses is so many times larger beside their spread.
            lost = [max(4.0 * worst, spreads * floor) for spreads in (SPREADS if far else (0.0,))]
            if case.distribution == "in order":
                lost = [4.0 * (worst + 3 * (worst - session.base_error[i]))]
            assert expected.allowed in [pytest.approx(one + floor if spec.floating else 0.0) for one in lost]
    assert session.reduction(2) == 512


def test_windows_lie_inside_their_segments_and_never_meet(session):
    for index, spec in enumerate(session.inputs):
        used = sorted({case.offsets[index] for case in session.cases})
        assert all(0 <= offset <= session.memory.arena.segments[index].capacity - spec.nbytes for offset in used)
        pool = session.layout.kept * spec.nbytes
        seeds, distributions = ([o for o in used if (o < pool) == given] for given in (True, False))
        assert seeds == [draw * spec.nbytes for draw in range(5)]
        assert all(
            b - a >= spec.nbytes for a, b in zip([pool - spec.nbytes, *distributions], distributions, strict=False)
        )


def test_pointers_are_aligned_but_for_the_case_that_says_otherwise(session):
    for case in session.cases:
        for index, spec in enumerate(session.inputs):
            item = spec.nbytes // spec.numel
            place = (session.memory.arena.segments[index].start + case.offsets[index]) % 64
            if case.distribution == "unaligned pointers":
                assert place == item
            elif case.distribution != "as given":
                assert place == 0


def test_the_first_seed_meets_initial_parameters_and_all_others_random_ones(session):
    first, *others = (tensors(session, case)[SHIFT:] for case in session.cases)
    assert torch.equal(first[0], torch.zeros(8))
    for shift, weight, bias in others:
        assert bool((shift != 0).all()), "a buffer of zeros is not left out unnoticed"
        assert not torch.equal(weight, first[1])
        assert not torch.equal(bias, first[2])
    assert session.timed_parameters() == session.cases[1].offsets[SHIFT:]


def test_regimes_change_what_they_say(session):
    cases = {case.distribution: tensors(session, case) for case in session.cases}
    pool = [session.view(X, draw * session.inputs[X].nbytes) for draw in range(session.layout.kept)]
    for name, factor in (("times 3", 3), ("times 0.01", 0.01), ("negated", -1)):
        # Of small ones one is the largest below zero.
        differs = [int((cases[name][X] != drawn * factor).sum()) for drawn in pool]
        assert min(differs) <= (name == "times 0.01"), name
    integers = cases["small integers"][X]
    assert torch.equal(integers, integers.round())
    for found in cases.values():
        torch.testing.assert_close(found[P].sum(-1), torch.ones(20))
        assert bool(((found[ROWS] >= 0) & (found[ROWS] < 20)).all())


def test_draws_differ(session):
    pool = [session.view(X, draw * session.inputs[X].nbytes) for draw in range(session.layout.kept)]
    assert session.layout.kept == 5
    assert len({float(x.sum()) for x in pool}) == session.layout.kept


def test_spare_places_meet_neither_draws_nor_regimes_nor_each_other(session):
    assert session.layout.spare == 48
    for index, stock in enumerate(session.stocks()):
        size = stock.spec.nbytes
        used = {case.offsets[index] for case in session.cases} | {stock.home}
        taken = sorted((*stock.places, *used))
        assert len(stock.places) == session.layout.spare
        assert all(b - a >= size for a, b in itertools.pairwise(taken))
        assert all(0 <= a <= session.memory.arena.segments[index].capacity - size for a in taken)
        assert all((session.memory.arena.segments[index].start + a) % 64 == 0 for a in stock.places)


def test_fresh_inputs_leave_every_case_as_it_is(session):
    before = [tensors(session, case) for case in session.cases]
    FreshInputs(session.stocks(), session.view).windows(session.layout.spare)
    for case, old in zip(session.cases, before, strict=True):
        assert all(map(torch.equal, tensors(session, case), old))


def test_each_timed_call_of_the_reference_takes_its_own_parameters(session):
    calls = FreshInputs(session.stocks(), session.view).windows(3)
    ran = session.reference.run(calls, checked=False, variant="eager")
    session.forget_parameters()
    for offsets, results in zip(calls, ran.results, strict=True):
        wanted = forward(*(session.view(i, o) for i, o in enumerate(offsets)))
        torch.testing.assert_close(session.reference.read(results[0]).double(), wanted[0], rtol=1e-4, atol=1e-4)
    session.load_parameters(session.cases[1].offsets[SHIFT:])
    test_what_is_expected_is_the_fp64_result_of_what_lies_there(session)


def test_a_candidate_learns_how_to_build_the_model_and_nothing_of_the_reference(session):
    text = session.original.init_source()
    found = {}
    exec(text, found)
    assert found["get_init_inputs"]() == [32, 0.5]
    assert "Linear" not in text
    assert "Model" not in text


def test_what_children_get_is_the_read_only_arena(session):
    assert session.share() == (session.memory.arena.layout(), [session.memory.arena.descriptor])


def test_an_admitted_reference_that_fails_is_the_referee_s_trouble(session):
    with pytest.raises(RefereeError, match="the reference of 'tiny' failed"):
        session.reference.ask(Run(calls=(), variant="nonsense"))


def test_a_refresh_draws_everything_anew_from_seeds_that_nobody_knows(session):
    before = [tensors(session, case) for case in session.cases]
    expected = [case.expected[0].value for case in session.cases]
    torch.manual_seed(0)
    session.refresh()
    for case, old, value in zip(session.cases, before, expected, strict=True):
        new = tensors(session, case)
        assert not torch.equal(new[X], old[X])
        assert not torch.equal(case.expected[0].value, value)
    assert torch.equal(tensors(session, session.cases[0])[WEIGHT], before[0][WEIGHT]), "initial values stay"
    assert not torch.equal(tensors(session, session.cases[1])[WEIGHT], before[1][WEIGHT])
    test_what_is_expected_is_the_fp64_result_of_what_lies_there(session)
