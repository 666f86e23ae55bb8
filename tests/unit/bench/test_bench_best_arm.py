"""Which arm is called the best: by one figure, over the same tasks, and never for writing nothing."""

import samples_of_bench as made

from kernelwright.bench.page import render
from kernelwright.bench.summary import best_arm, summarize_bench

SLOW, SILENT, HALF = made.arm("direct"), made.arm("fsr"), made.arm("cudaforge")
TASKS = ("a", "b", "c", "d")


def compared(*cells, arms, tasks=TASKS):
    """A comparison of these cells."""
    return summarize_bench("b", made.plan(arms=arms, tasks=tasks), cells)


def test_an_arm_that_wrote_nothing_does_not_beat_one_whose_kernels_are_slow():
    slow = [made.cell(task, 0.5, (0.5,), of=SLOW) for task in TASKS]
    nothing = [made.cell(task, None, (None,), of=SILENT) for task in TASKS]
    assert best_arm(compared(*nothing, *slow, arms=(SILENT, SLOW))).arm == SLOW


def test_of_equal_means_the_one_that_is_right_more_often_is_the_best():
    often = [made.cell(task, 1.0 if task == "d" else 0.5, (0.5,), of=SLOW) for task in TASKS]
    once = [made.cell(task, 0.9 if task == "a" else None, (0.9,), of=HALF) for task in TASKS]
    found = compared(*once, *often, arms=(HALF, SLOW))
    assert best_arm(found).arm == SLOW
    assert "Nothing is faster than eager" in render(found)


def test_arms_are_held_against_each_other_over_the_same_tasks():
    easy = [made.cell("a", 8.0, (8.0,), of=HALF)]
    easy += [made.cell(task, status="pending", of=HALF) for task in TASKS[1:]]
    all_four = [made.cell(task, 9.0 if task == "a" else 1.0, (1.0,), of=SLOW) for task in TASKS]
    found = compared(*easy, *all_four, arms=(HALF, SLOW))
    assert best_arm(found).arm == SLOW
    assert {row.shared.cells for row in found.arms} == {1}
    assert "Over the same tasks" in render(found)


def test_an_arm_whose_model_did_not_answer_where_it_is_hard_looks_no_better():
    broke = [made.cell("a", 4.0, (4.0,), of=HALF)]
    broke += [made.cell(task, status="no_answer", of=HALF) for task in TASKS[1:]]
    tried = [made.cell(task, 4.0 if task == "a" else 1.2, (1.2,), of=SLOW) for task in TASKS]
    found = compared(*broke, *tried, arms=(HALF, SLOW))
    assert best_arm(found).arm == SLOW
    assert found.arms[0].figures.correct.value == 0.25
    assert "without an answer, and so not solved: 3 cells" in found.labels


def test_an_arm_that_spent_less_than_it_had_says_so():
    short = [made.cell(task, 0.5, (0.5,) * 5, of=SLOW) for task in TASKS]
    whole = [made.cell(task, 0.5, (0.5,) * 12, of=HALF) for task in TASKS]
    labels = compared(*short, *whole, arms=(SLOW, HALF)).labels
    assert "direct spent 5 of 12 proposals" in labels
    assert not any(label.startswith("cudaforge") for label in labels)


def test_a_figure_without_an_interval_has_a_dash_and_the_reason():
    page = render(compared(made.cell("a", 3.0, (3.0,), of=SLOW), arms=(SLOW,), tasks=("a",)))
    assert "fewer than three tasks" in page
    assert "3.00× to 3.00×" not in page and "100 % to 100 %" not in page
