"""The reader of serial functions: what it makes of them, and what it refuses with the cure."""

import numpy as np
import pytest

from kernelwright.errors import TaskError
from kernelwright.records.expression import worth
from kernelwright.tasks.table import read_task

HEAD = """/* kernelwright
family = "reduction"
[sizes]
n = 64
[workloads]
large = { n = 4096 }
[arguments]
x = { shape = ["n"] }
out = { shape = [1] }
*/
"""
CODE = "void total(const float* x, float* out, long n) {\n  for (long i = 0; i < n; ++i) out[0] += x[i];\n}\n"


@pytest.fixture
def written(tmp_path):
    """Writes a task and reads it."""

    def read(text=HEAD + CODE, name="total.cpp", size="", **beside):
        for file, content in beside.items():
            (tmp_path / file.replace("__", ".")).write_text(content)
        (tmp_path / name).write_text(text)
        return read_task(tmp_path / f"{name}{size}")

    return read


def test_the_function_becomes_a_reference_that_calls_it(written):
    task = written()
    assert (task.format, task.name, task.sizes) == ("serial", "total", {"n": 64})
    assert task.serial == CODE
    assert "def forward(self, x):" in task.source
    compile(task.source, "<task>", "exec")


def test_a_workload_has_its_own_sizes_and_the_same_code(written):
    task = written(size="@large")
    assert (task.name, task.sizes, task.serial) == ("total@large", {"n": 4096}, CODE)


def test_the_toml_may_stand_beside_it(written):
    toml = HEAD.removeprefix("/* kernelwright").replace("*/", "")
    assert written(CODE, total__toml=toml).serial == CODE


def test_c_is_another_dialect(written):
    assert "'dialect': 'c'" in written(name="total.c").source


def test_limits_are_the_same_as_in_a_text_task(written):
    task = written(HEAD.replace("[sizes]", "[limits]\nshared_bytes = 1024\nregisters = 64\n[sizes]") + CODE)
    assert (task.limits.shared_bytes, task.limits.registers) == (1024, 64)


def test_indices_are_a_domain_with_a_bound(written):
    head = HEAD.replace('x = { shape = ["n"] }', 'x = { shape = ["n"], values = "index", bound = "n" }')
    (domain,) = written(head + CODE.replace("const float*", "const int*")).domains
    assert (domain.position, domain.domain, domain.bound) == (0, "index", 64)


def test_stored_cases_travel_with_the_task(written, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(64, dtype=np.float32))
    np.save(tmp_path / "y.npy", np.full(1, 64, dtype=np.float32))
    cases = '[[cases]]\ninputs = { x = "x.npy" }\noutputs = { out = "y.npy" }\n*/'
    assert "'cases'" in written(HEAD.replace("*/", cases) + CODE).source


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CODE, "has no comment"),
        (HEAD.replace("[sizes]", "[sizes") + CODE, "TOML cannot be read"),
        (HEAD.replace("[sizes]", "surplus = 1\n[sizes]") + CODE, "unknown key 'surplus'"),
        (HEAD.replace("n = 64", "n = -1") + CODE, "positive whole number"),
        (HEAD.replace('"reduction"', '"poetry"') + CODE, "must be one of"),
        (HEAD.replace("out = {", "gone = {") + CODE, "does not take"),
        (HEAD.replace('x = { shape = ["n"] }', "") + CODE, "x has no shape"),
        (HEAD.replace('["n"]', '["m"]') + CODE, "no number, size"),
        (HEAD + CODE.replace("void", "char*"), "neither a number nor a pointer"),
        (HEAD + CODE + CODE.replace("total", "other"), "name the right one"),
        (HEAD + CODE.replace("const float* x", "const char** x"), "lies in one piece"),
        (HEAD.replace("*/", '[[cases]]\ninputs = { x = "../x.npy" }\n*/') + CODE, "not in the task's folder"),
        (HEAD.replace("[sizes]", "[limits]\nwishes = 1\n[sizes]") + CODE, "cannot be taken"),
    ],
)
def test_what_cannot_be_a_task_is_refused_with_the_cure(written, text, words):
    with pytest.raises(TaskError, match=words):
        written(text)


def test_an_unknown_workload_names_those_there_are(written):
    with pytest.raises(TaskError, match="there are large"):
        written(size="@huge")


def test_expressions_are_sums_and_products_of_sizes():
    assert [worth(e, {"n": 4}) for e in (3, "n", "n + 2 * n", "n // 3", "(n - 1) * n")] == [3, 4, 12, 1, 12]
    for wrong in ("m", "n ** -2", "__import__('os')", "n +", "n // 0"):
        with pytest.raises(ValueError, match="no number, size"):
            worth(wrong, {"n": 4})


def test_our_own_serial_tasks_can_be_read():
    from pathlib import Path  # noqa: PLC0415

    files = sorted((Path(__file__).parents[3] / "tasks" / "serial").glob("*.cpp"))
    assert len(files) >= 24
    for file in files:
        assert read_task(file).sizes
        assert read_task(file.with_name(f"{file.name}@small")).serial == read_task(file).serial
