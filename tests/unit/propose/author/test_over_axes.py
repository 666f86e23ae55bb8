"""The author's kernel over a task's axes: one text for all workloads, right at sizes between and beyond."""

import asyncio

import pytest
from axes_cases import CASES, ROWS, drawn_cases, over_workloads, several, wrong_at

from kernelwright.errors import ProposeError
from kernelwright.evaluate.over_workloads import at_axes
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.lower.choice import Fork, choice, directives
from kernelwright.propose.author.lower.texts import compared
from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import ProposalRequest
from kernelwright.records.candidate import Candidate


def written(task):
    brief = Brief(task, ProposalRequest(number=0, intent="seed"), parents=(), feedback=(), seed=0)
    (proposal,) = asyncio.run(Author().propose(brief))
    return next(proposal.candidate.points())


SHORT = [pytest.param(name, marks=pytest.mark.matrix if name != "softmax" else ()) for name in CASES]


@pytest.mark.parametrize("name", SHORT)
def test_a_kernel_is_right_at_all_workloads_and_drawn_sizes(name, tmp_path):
    task, cases = over_workloads(CASES[name])
    drawn = drawn_cases(task, 2 if name == "softmax" else 12)
    assert not wrong_at(written(task), [*cases, *drawn], tmp_path)


def test_workloads_that_differ_too_little_are_named():
    rows = 'WORKLOADS = [{"n": 64, "m": 8}, {"n": 128, "m": 8, "weight": 0}]\nAXES = {"n": None, "m": None}\n'
    task, _ = over_workloads(several(rows, "x * 2", "n, m", "torch.randn(n, m)"))
    with pytest.raises(ProposeError, match="do not tell how the program follows from n, m"):
        written(task)


def test_rows_that_are_long_have_another_kernel_behind_the_preprocessor():
    task, _ = over_workloads(several(ROWS, "x.sum(-1)", "batch, hidden", "torch.randn(batch, hidden)"))
    source = (written(task)).source
    assert "#if AXIS_HIDDEN < " in source and "AXIS_BATCH" in source


def test_a_choice_gives_every_size_a_kernel_that_serves_it_and_finds_where_it_changes():
    def serving(sizes):
        return frozenset({int(sizes["n"] >= 77), 2} if sizes["m"] > 3 else {3})

    known = [({"n": n, "m": m}, serving({"n": n, "m": m})) for n in (1, 50, 90, 400) for m in (1, 8)]
    assert choice(known, serving) == Fork("m", 4, 3, 2)
    narrow = [(sizes, which - {2}) for sizes, which in known if sizes["m"] == 8]
    assert choice(narrow, lambda sizes: serving(sizes) - {2}) == Fork("n", 77, 0, 1)
    text = directives(Fork("n", 77, 0, 1), ["short", "long"], {"n": "AXIS_N"})
    assert text.split("\n")[:4] == ["#if AXIS_N < 77", "short", "#else", "long"]


def made(source, room=0):
    return Candidate(language="cpp", source=source, entry="k", workspace_bytes=room)


def test_numbers_of_texts_follow_from_sizes_floats_and_quotients_too():
    points = [{"n": n, "m": m} for n, m in ((17, 49), (49, 17), (113, 97), (97, 241), (241, 113), (257, 17))]
    texts = [made(f"a {n * m} b {n}.0f c {-(-m // 10)} 64", 4 * n) for n, m in (p.values() for p in points)]
    text = compared(texts, points)
    assert text.over(lambda number: f"<{number}>") == "a <n*m> b (<n> * 1.0f) c <((m + 9)//10)> 64"
    assert text.workspace == "4*n" and text.gives(made("a 6 b 2.0f c 1 64"), {"n": 2, "m": 3})
    assert not text.gives(made("a 7 b 2.0f c 1 64"), {"n": 2, "m": 3})
    assert compared([*texts[:-1], made("other")], points) is None


def test_bytes_of_workspace_over_axes_are_worked_out_for_each_workload():
    task, _ = over_workloads(CASES["gated"])
    at = [at_axes(made("// workspace: 4*n + 64\n// workspace: 128\n"), part).workspace_bytes for part in task.parts]
    assert at == [4 * part.source.part.sizes["n"] + 64 for part in task.parts]
    assert at_axes(made("// workspace: nothing\n"), task.main).workspace_bytes == 0
