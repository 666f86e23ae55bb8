"""Portfolios: which schedules are worth keeping, when several are better than one, and what a kernel of several looks like."""

import asyncio
import math

import pytest
from axes_cases import CASES, over_workloads

from kernelwright.export.axes import leaves
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.lower.choice import ORIGINAL, Fork, conditions, served, statements
from kernelwright.propose.author.search.learn import Memo, kept, read_memo
from kernelwright.propose.author.search.portfolio import GAIN, Kept, chosen, measured, of_use
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.evaluation import WorkloadResult
from kernelwright.records.feedback import Feedback
from kernelwright.records.workloads import Axis, WorkloadPoint, WorkloadSet
from kernelwright.testing.samples import sample_measured

SMALL, LARGE, MIDDLE = (WorkloadPoint(name=str(n), axes={"n": n}, weight=w) for n, w in ((8, 2), (4096, 1), (256, 1)))
SET = WorkloadSet(axes=(Axis(name="n", high=8192),), points=(SMALL, LARGE, MIDDLE))


def known(name, *speedups):
    return Kept(schedule={"warps": name}, speedups=dict(zip(("n=8", "n=4096", "n=256"), speedups, strict=True)))


def test_each_size_gets_the_member_that_was_best_at_the_nearest_workload_and_pytorch_where_none_is_faster():
    found = chosen([known(1, 3.0, 0.5, 0.9), known(2, 1.0, 2.0, 0.8)], SET)
    assert found.serves == {"n=8": 0, "n=4096": 1, "n=256": ORIGINAL}
    tree = found.over(SET)
    assert [served(tree, {"n": n}) for n in (1, 8, 200, 300, 4000, 8000)] == [0, 0, ORIGINAL, ORIGINAL, 1, 1]


def test_one_schedule_that_is_about_as_good_stays_alone():
    assert chosen([known(1, 3.0, 2.0, 2.0), known(2, 1.0, 2.0 * math.exp(2 * GAIN), 2.0)], SET) is None
    assert chosen([known(1, 3.0, 2.0, 2.0), known(2, 1.0, 2.0 * math.exp(5 * GAIN), 2.0)], SET) is not None
    assert chosen([Kept(schedule={}, speedups={"n=8": 9.0})], SET) is None, "not measured everywhere"


def test_members_that_add_nothing_are_left_out_and_kept_ones_are_the_best_somewhere():
    three = [known(1, 3.0, 0.5, 2.0), known(2, 1.0, 2.0, 2.0), known(3, 2.9, 1.9, 1.9)]
    assert [one.schedule["warps"] for one in of_use([*three, three[0]])] == [1, 2]
    assert len(chosen(three, SET).members) == 2


def test_a_tree_says_in_words_and_in_python_what_serves_where():
    tree = Fork("n", 77, ORIGINAL, Fork("m", 4, 0, ORIGINAL))
    assert conditions(tree, ORIGINAL) == ["n < 77", "n >= 77 and m >= 4"]
    assert conditions(ORIGINAL, ORIGINAL) == ["0 < 1"] and conditions(0, ORIGINAL) == []
    scope = {}
    exec(f"def choice(n, m):\n{statements(tree)}", scope)
    for n, m in ((1, 1), (77, 3), (77, 4)):
        assert scope["choice"](n, m) == served(tree, {"n": n, "m": m})


def attempt(task, number, schedule, speedups, memo=None):
    """An attempt of this schedule with a speedup for each workload."""
    rows = tuple(
        WorkloadResult(point=part.source.part.point, drawn=False, evaluation=sample_measured(speedup))
        for part, speedup in zip(task.parts, speedups, strict=True)
    )
    memo = memo or Memo(language="cpp", schedule=schedule)
    proposal = asyncio.run(Author().propose(brief(task, number)))[0].model_copy(update={"memo": memo.model_dump_json()})
    return Attempt.model_construct(
        number=number, proposal_request=ProposalRequest(number=number, intent="seed"), proposal=proposal,
        evaluation=sample_measured(2.0).model_copy(update={"workloads": rows}),
    )  # fmt: skip


def brief(task, number, parents=(), feedback=()):
    intent = "improve" if parents else "seed"
    numbers = tuple(one.number for one in parents)
    return Brief(task, ProposalRequest(number=number, intent=intent, parents=numbers), parents, feedback, seed=0)


@pytest.fixture(scope="module")
def task():
    return over_workloads(CASES["gated"])[0]


def test_what_a_lineage_measured_travels_in_memos_but_a_portfolio_s_own_figures(task):
    one = attempt(task, 0, {"a": 1}, (3.0, 0.5, 0.5))
    assert set(measured(one)) == {part.source.part.point.words for part in task.parts}
    first = kept([one])
    assert [k.schedule for k in first] == [{"a": 1}]
    memo = Memo(language="cpp", schedule={"a": 2}, kept=first, portfolio=chosen(first, task.source.workloads))
    assert memo.portfolio is not None and kept([attempt(task, 1, {}, (9.0, 9.0, 9.0), memo)]) == first


def test_the_author_proposes_a_portfolio_where_measured_schedules_differ_and_only_with_feedback(task):
    schedule = read_memo(attempt(task, 0, {}, (1, 1, 1)).proposal.memo).schedule
    real = next(iter(asyncio.run(Author().propose(brief(task, 0)))))
    schedule = read_memo(real.memo).schedule
    parent = attempt(task, 0, schedule, (3.0, 0.4, 0.4))
    told = Feedback(attempt=0, words="", works=True, speedup_eager=0.8)
    (several,) = asyncio.run(Author().propose(brief(task, 1, (parent,), (told,))))
    assert several.note.startswith("a portfolio of 1") and read_memo(several.memo).portfolio is not None
    served_by_kernel = [not leaves(several.candidate, part.source.part.sizes) for part in task.parts]
    assert served_by_kernel == [True, False, False]
    (blind,) = asyncio.run(Author().propose(brief(task, 1, (parent,))))
    assert read_memo(blind.memo).portfolio is None
