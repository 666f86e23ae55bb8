"""Readers say what is wrong with a file in one message, and never run it."""

from pathlib import Path

import pytest

import kernelwright.tasks
from kernelwright.errors import TaskError, UsageError
from kernelwright.records.task import DeclaredDomain
from kernelwright.tasks.files import LIMIT_BYTES
from kernelwright.tasks.kernel_file import read_kernel
from kernelwright.tasks.kernelbench import read_kernelbench
from kernelwright.tasks.table import READERS, read_task
from kernelwright.testing.samples import SOURCE


@pytest.fixture
def write(tmp_path):
    def write(text, name="abs.py"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_task_is_its_text(write):
    source = read_task(write(SOURCE))
    assert (source.name, source.format, source.source, source.domains) == ("abs", "kernelbench", SOURCE, ())


def test_reading_runs_nothing(write, tmp_path):
    read_task(write(f"open({str(tmp_path / 'ran')!r}, 'w')\n{SOURCE}"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Model:\n  def f(\n", "not valid Python.*line 2"),
        ("x = 1\n", "defines no `Model`: add a class"),
        ("class Model: pass\n", "defines no `get_inputs`: add a function"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("class Model: pass\0", "not valid Python"),
        ("(" * 5000 + ")" * 5000, "not valid Python"),
        (b" " * (LIMIT_BYTES + 1), "longer than 4 MiB"),
        ("", "defines no `Model`"),
    ],
)
def test_a_file_that_is_no_task_says_why(write, text, words):
    with pytest.raises(TaskError, match=words):
        read_task(write(text))


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(TaskError, match="does not exist"):
        read_task(tmp_path / "none.py")
    with pytest.raises(TaskError, match="is a folder"):
        (tmp_path / "folder.py").mkdir()
        read_task(tmp_path / "folder.py")


def test_an_unknown_ending_names_the_known_ones(write):
    with pytest.raises(TaskError, match=r"one of \.py"):
        read_task(write(SOURCE, "abs.txt"))


def test_an_unreadable_file_says_so(write, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    path = write(SOURCE)
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(TaskError, match=r"Permission denied.*permissions"):
        read_task(path)


def test_a_byte_order_mark_is_no_part_of_the_task(write):
    assert read_task(write(b"\xef\xbb\xbf" + SOURCE.encode())).source == SOURCE


def test_declared_domains_are_read_by_position(write):
    source = read_task(write(SOURCE + 'DOMAINS = {1: ("index", 10), 0: "probability"}\n'))
    assert source.domains == (
        DeclaredDomain(position=0, domain="probability"),
        DeclaredDomain(position=1, domain="index", bound=10),
    )


@pytest.mark.parametrize("literal", ["{0: 'colour'}", "{0: f()}", "[1]", "{0: ('index', 1, 2)}", "{'x': 'real'}", "3"])
def test_domains_that_make_no_sense_are_refused(write, literal):
    with pytest.raises(TaskError, match=r"line \d+: DOMAINS must be a literal"):
        read_task(write(f"{SOURCE}DOMAINS = {literal}\n"))


def test_the_table_holds_every_format(modules_of):
    formats = modules_of(kernelwright.tasks) - {
        "table", "kernel_file", "launch_function", "module_names", "files", "neighbours", "published", "serial_skeleton",
        "drawn_sizes", "workloads", "free_axes", "definitions",
    }  # fmt: skip
    assert {f"read_{name}" for name in formats} == {reader.__name__ for reader in READERS.values()}


def test_a_cpp_kernel_is_found_by_its_entry(write):
    text = '// extern "C" void old(float*)\nextern "C" void scale(const float* x, float* y) {}\n'
    kernel = read_kernel(write(text, "k.cpp"), workspace_bytes=64)
    assert (kernel.language, kernel.entry, kernel.source, kernel.workspace_bytes) == (
        "cpp",
        "scale",
        text,
        64,
    )


def test_a_declaration_and_its_definition_are_one_entry(write):
    text = 'extern "C" void f(float* x);\nextern "C" void f(float* x) {}\n'
    assert read_kernel(write(text, "k.cpp")).entry == "f"


@pytest.mark.parametrize("text", ["void f() {}", 'extern "C" int a() {}\nextern "C" int b() {}'])
def test_an_entry_that_cannot_be_told_must_be_named(write, text):
    path = write(text, "k.cpp")
    with pytest.raises(UsageError, match="--entry NAME"):
        read_kernel(path)
    named = "b" if " b(" in text else "f"
    assert read_kernel(path, named).entry == named


def test_an_entry_that_is_not_there_is_refused_before_anything_is_built(write):
    with pytest.raises(UsageError, match="--entry nope: there is no such name in it; it defines f"):
        read_kernel(write('extern "C" void f() {}', "k.cpp"), "nope")


def test_a_python_kernel_is_triton(write):
    assert (read_kernel(write("x = 1", "k.py")).language, read_kernel(write("x = 1", "k.py")).entry) == (
        "triton",
        "ModelNew",
    )


def test_a_kernel_of_another_kind_or_empty_is_refused(write):
    with pytest.raises(UsageError, match="ending must be one of"):
        read_kernel(write("x", "k.rs"))
    with pytest.raises(TaskError, match="is empty"):
        read_kernel(write(" \n", "k.cpp"))


# --- comparators ---------------------------------------------------------------------------------------------------

BARE = "class Model: ...\ndef get_inputs(): ...\n"


def declared(tmp_path, line):
    path = tmp_path / "task.py"
    path.write_text(f"{BARE}{line}\n")
    return read_kernelbench(path).comparators


def test_comparators_are_declared_by_position(tmp_path):
    found = declared(
        tmp_path, 'COMPARATORS = {2: "statistical", 0: "exact", 1: ("set", {"of": "x", "dim": 0, "distinct": True})}'
    )
    assert [d.position for d in found] == [0, 1, 2]
    exact, ties, statistical = (d.comparator for d in found)
    assert exact.kind == "exact"
    assert (ties.of, ties.dim, ties.distinct, ties.ordered) == ("x", 0, True, True)
    assert statistical.false_alarm == 1e-4


@pytest.mark.parametrize(
    "line",
    [
        "COMPARATORS = {0: 'nearly'}",
        "COMPARATORS = {0: ('set', {'of': 1})}",
        "COMPARATORS = {0: ('statistical', {'draws': 2})}",
        "COMPARATORS = {0: ('calibrated', {'k': -1})}",
        "COMPARATORS = {0: ('exact', {'k': 1})}",
        "COMPARATORS = {'first': 'exact'}",
        "COMPARATORS = ['exact']",
        "COMPARATORS = {0: make()}",
        "COMPARATORS = {0: ('set', 'x')}",
    ],
)
def test_a_comparator_that_is_none_is_refused_with_what_there_is(tmp_path, line):
    with pytest.raises(TaskError, match="calibrated, exact, set, statistical"):
        declared(tmp_path, line)
