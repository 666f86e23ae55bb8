"""What cannot be judged is said before a referee is asked for."""

import pytest

from kernelwright.engine.check import check
from kernelwright.engine.request import CheckRequest
from kernelwright.engine.suppliers import Suppliers
from kernelwright.errors import UsageError
from kernelwright.languages import LARGEST_SOURCE
from kernelwright.testing.samples import SOURCE


@pytest.fixture
def request_of(tmp_path):
    task = tmp_path / "task.py"
    task.write_text(SOURCE)

    def request(name, text):
        (tmp_path / name).write_text(text)
        return CheckRequest(task, tmp_path / name, target="cpu" if name.endswith("cpp") else "sm_90")

    return request


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kernel.cpp", 'extern "C" void kernel(const float* x, float* y) {}\n' + "// é\n" * (LARGEST_SOURCE // 5)),
        ("kernel.cpp", 'extern "C" void kernel(const float* x, float* y) {}\n' + "/" * LARGEST_SOURCE),
    ],
)
def test_a_kernel_that_is_too_long_is_refused_before_anything_is_prepared(request_of, name, text):
    def nobody(*parts):
        raise AssertionError("a referee was asked for")

    with pytest.raises(UsageError, match=rf"has {len(text.encode())} bytes, more than {LARGEST_SOURCE}"):
        check(request_of(name, text), Suppliers(evaluator=nobody))
