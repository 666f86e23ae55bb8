"""A training's journal of any length: the report has the latest rollouts and so many points, whatever came before."""

import random

import pytest

from kernelwright.store.files import BLOCK, latest_lines, open_lines, read_lines
from kernelwright.train.figures import MOST_POINTS, thinned
from kernelwright.train.recipe import PROGRESS, ROLLOUTS, Progress, Rollout
from kernelwright.train.session import MOST_ROLLOUTS, latest_steps, steps, write_report


def step(number, **figures):
    return Progress(step=number, of=9999, seconds=float(number), figures={"loss": 1.0, **figures})


def write(folder, numbers):
    with open_lines(Progress, folder / PROGRESS) as lines:
        for number in numbers:
            lines.append(step(number, at=float(number)))


@pytest.mark.parametrize("length", [1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_lines_are_read_from_the_end_as_from_the_beginning(tmp_path, length):
    drawn = random.Random(length)
    with open_lines(Rollout, file := tmp_path / "lines") as lines:
        for number in range(40):
            reply = "é" * drawn.randrange(length)
            lines.append(Rollout(step=number, task="t", turn=0, reward=None, outcome="x", reply=reply))
    file.write_bytes(file.read_bytes() + b'{"torn": ')
    assert list(latest_lines(Rollout, file)) == read_lines(Rollout, file)[::-1]
    assert len(read_lines(Rollout, file)) == 40


def test_a_file_that_is_empty_or_not_there_has_no_lines(tmp_path):
    (tmp_path / "empty").touch()
    assert not [*latest_lines(Rollout, tmp_path / "empty"), *latest_lines(Rollout, tmp_path / "none")]


def test_what_was_made_before_a_run_went_on_from_an_earlier_step_is_left_out(tmp_path):
    write(tmp_path, [1, 2, 3, 4, 5])
    write(tmp_path, [3, 4])
    write(tmp_path, [4])
    assert [one.step for one in latest_steps(tmp_path)] == [4, 3, 2, 1]
    assert [one.step for one in steps(tmp_path)] == [1, 2, 3, 4]


@pytest.mark.parametrize("count", [0, 1, 2 * MOST_POINTS - 1, 2 * MOST_POINTS, 5 * MOST_POINTS + 3, 40 * MOST_POINTS])
def test_steps_become_so_many_means_and_none_is_lost(count):
    found = thinned(step(number, at=float(number)) for number in range(count))
    assert len(found) <= 2 * MOST_POINTS
    assert [one.step for one in found] == sorted({one.step for one in found})
    assert (len(found) == count) == (count < 2 * MOST_POINTS)
    width = 1
    while count // width >= 2 * MOST_POINTS:
        width *= 2
    whole = found[: count // width]
    assert [one.figures["at"] for one in whole] == [n * width + (width - 1) / 2 for n in range(len(whole))]
    if count:
        assert found[-1].step == count - 1


def test_a_figure_that_some_steps_lack_is_the_mean_of_the_others():
    made = [step(n, **({"speedup": float(n)} if n % 2 else {})) for n in range(2 * MOST_POINTS)]
    assert thinned(made)[1].figures["speedup"] == 3.0


def test_the_report_of_a_long_run_is_short_and_its_last_step_exact(tmp_path):
    (tmp_path / "recipe.json").write_text("{}")
    write(tmp_path, range(3 * MOST_POINTS))
    with open_lines(Rollout, tmp_path / ROLLOUTS) as lines:
        for number in range(3 * MOST_ROLLOUTS):
            lines.append(Rollout(step=number, task=f"task-{number}-", turn=0, reward=0.0, outcome="x", reply="r"))
    page = write_report(tmp_path).read_text()
    assert f"Step {3 * MOST_POINTS - 1} of 9999" in page
    assert [f"task-{n}-" in page for n in (0, 2 * MOST_ROLLOUTS - 1, 2 * MOST_ROLLOUTS, 3 * MOST_ROLLOUTS - 1)] == [
        False, False, True, True,
    ]  # fmt: skip
