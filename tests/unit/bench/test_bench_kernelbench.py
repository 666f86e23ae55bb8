"""A checkout of KernelBench, by look-alikes of our own: numbers, unfit problems, precision."""

import ast

import pytest

from kernelwright.bench.request import KernelBench
from kernelwright.bench.suite import doubtful, in_precision, read_level, read_numbers, read_problem, unfit
from kernelwright.errors import UsageError
from kernelwright.export.reference import reference
from kernelwright.testing.samples import SOURCE


@pytest.fixture
def checkout(tmp_path):
    """Three problems of a level 2 that look like the real ones from outside."""
    folder = tmp_path / "KernelBench" / "level2"
    folder.mkdir(parents=True)
    for name in ("1_Abs.py", "12_Abs_Again.py", "23_Abs_Third.py"):
        (folder / name).write_text(SOURCE)
    (folder / "notes.md").write_text("no problem")
    return tmp_path


def names(suite):
    return [source.name for _, source in suite.sources]


def test_problems_are_found_by_their_number_and_unfit_ones_left_out_with_the_reason(checkout):
    suite = read_level(KernelBench(checkout, 2))
    assert names(suite) == ["l2_1_Abs", "l2_12_Abs_Again"]
    (left,) = suite.left_out
    assert left.name == "l2_23_Abs_Third"
    assert "zero" in left.reason
    assert names(read_level(KernelBench(checkout, 2, include_unfit=True)))[-1] == "l2_23_Abs_Third"


def test_the_folder_with_the_levels_can_be_named_too(checkout):
    assert len(read_level(KernelBench(checkout / "KernelBench", 2)).sources) == 2


def test_problems_can_be_chosen(checkout):
    assert names(read_level(KernelBench(checkout, 2, problems="12"))) == ["l2_12_Abs_Again"]
    with pytest.raises(UsageError, match=r"has no problem 2, 3: it has 3"):
        read_level(KernelBench(checkout, 2, problems="1-3"))
    with pytest.raises(UsageError, match="has no problems of level 3"):
        read_level(KernelBench(checkout, 3))


def test_a_file_that_is_no_task_is_left_out(checkout):
    (checkout / "KernelBench" / "level2" / "2_Broken.py").write_text("def (")
    suite = read_level(KernelBench(checkout, 2))
    assert "not valid Python" in next(one.reason for one in suite.left_out if one.name == "l2_2_Broken")


@pytest.mark.parametrize(("text", "numbers"), [("1,5-9", [1, 5, 6, 7, 8, 9]), ("3", [3]), ("2, 1-2", [1, 2])])
def test_numbers_and_ranges(text, numbers):
    assert read_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "a", "5-1", "1;2", "-3"])
def test_other_spellings_are_refused(text):
    with pytest.raises(UsageError, match="numbers and ranges"):
        read_numbers(text)


def test_the_known_unfit_problems_have_reasons_and_sources():
    assert {(2, 9), (2, 23), (2, 66), (2, 80), (2, 83)} == unfit().keys()
    assert all("arXiv" in reason for reason in unfit().values())
    assert not unfit().keys() & doubtful().keys()
    assert {level for level, _ in doubtful()} == {1, 2, 3}


def test_a_problem_that_others_leave_out_is_run_and_named(checkout):
    (checkout / "KernelBench" / "level2" / "27_Abs.py").write_text(SOURCE)
    suite = read_level(KernelBench(checkout, 2))
    assert [one.name for one in suite.doubtful] == ["l2_27_Abs"]
    assert "l2_27_Abs" in names(suite)
    assert "robust-kbench" in suite.doubtful[0].reason


def test_two_files_with_one_number_are_refused(checkout):
    (checkout / "KernelBench" / "level2" / "12_Other.py").write_text(SOURCE)
    with pytest.raises(UsageError, match=r"two problems 12, 12_Abs_Again.py and 12_Other.py"):
        read_level(KernelBench(checkout, 2))


def test_fp32_is_the_file_as_it_is_and_another_precision_is_appended(checkout):
    file = checkout / "KernelBench" / "level2" / "1_Abs.py"
    assert read_problem(file, "x", "fp32").source == SOURCE
    cast = read_problem(file, "x", "bf16").source
    assert cast.startswith(SOURCE.rstrip())
    assert cast.endswith(in_precision("bf16"))
    assert "torch.bfloat16" in cast
    assert "torch.float16" in read_problem(file, "x", "fp16").source


def test_a_drop_in_carries_the_precision_along(checkout):
    cut = reference(read_problem(checkout / "KernelBench" / "level2" / "1_Abs.py", "x", "bf16").source)
    kept = {node.name for node in ast.parse(cut.body).body if hasattr(node, "name")}
    assert {"Model", "_in_precision"} <= kept
    assert "_cast_inputs" not in kept
    assert "Model = _in_precision(Model)" in cut.body
