"""A size is one word of a task's text; everything else stays as it was written."""

from pathlib import Path

import pytest

from kernelwright.engine.admission import gather
from kernelwright.errors import TaskError, UsageError
from kernelwright.tasks.files import at_size, sizes_of, split_size, with_size
from kernelwright.tasks.table import read_task

TASK = '''"""Größe: only one word changes."""
SIZES = {"small": {"n": 4}, "large": {"n": 400}}
x = "é"; SIZE = SIZES["small"]  # "small" stays here
class Model: ...
def get_inputs(): return SIZES["small"]
'''


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "sums.py"
    path.write_text(TASK, encoding="utf-8")
    return path


def test_one_word_is_replaced_and_nothing_else(task):
    source = read_task(with_size(task, "large"))
    assert source.source == TASK.replace('SIZE = SIZES["small"]', 'SIZE = SIZES["large"]')
    assert source.name == "sums@large"


def test_without_a_size_the_file_is_as_it_is(task):
    assert (read_task(task).source, read_task(task).name) == (TASK, "sums")


def test_a_size_is_part_of_what_a_task_is(task):
    ids = {str(sorted(read_task(p).identity_fields().items())) for p in (task, with_size(task, "large"))}
    assert len(ids) == 2


def test_an_unknown_size_names_the_known_ones(task):
    with pytest.raises(TaskError, match="no size 'huge': one of small, large"):
        read_task(with_size(task, "huge"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SIZE = 3\n", "lists none in a literal SIZES"),
        ("SIZES = make()\nSIZE = SIZES['a']\n", "lists none in a literal SIZES"),
        ("SIZES = {'a': 1}\n", "add the line SIZE = SIZES"),
        ("SIZES = {'a': 1}\nSIZE = SIZES[pick()]\n", "add the line SIZE = SIZES"),
    ],
)
def test_a_text_whose_size_cannot_be_chosen_says_what_is_missing(text, words):
    with pytest.raises(TaskError, match=words):
        at_size(text, "a", Path("t.py"))


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_line_endings_are_kept(ending):
    text = ending.join(("SIZES = {'a': 1, 'b': 2}", "SIZE = SIZES['a']", "x = 1", ""))
    assert at_size(text, "b", Path("t.py")) == text.replace("SIZES['a']", 'SIZES["b"]')


def test_a_name_with_the_mark_in_it_is_a_name(tmp_path):
    path = tmp_path / "at@home.py"
    path.write_text(TASK, encoding="utf-8")
    assert split_size(path) == (path, "")
    assert split_size(tmp_path / "at@home.py@large") == (path, "large")


def test_a_missing_file_at_a_size_is_missing(tmp_path):
    with pytest.raises(TaskError, match="does not exist"):
        read_task(tmp_path / "none.py@small")


def test_sizes_of_what_is_no_python_are_none():
    assert sizes_of("(") == ()


def test_a_directory_at_a_size_is_all_of_its_tasks_at_it(task):
    found, _ = gather((with_size(task.parent, "large"),))
    assert [(one.name, one.fault) for one in found] == [("sums@large", None)]
    with pytest.raises(UsageError, match="does not exist"):
        gather((with_size(task.parent / "none", "large"),))
