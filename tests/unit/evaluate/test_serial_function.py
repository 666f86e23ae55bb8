"""A serial function in its process: what it computes, in which precision, and what sanitizers and guards find."""

import base64
import io

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.evaluate.entrypoints.reference.rounding import in_double
from kernelwright.evaluate.entrypoints.reference.serial import SerialFunction, as_double, linked
from kernelwright.records.task import SerialSpec
from kernelwright.tasks.serial import read_serial

HEAD = """/* kernelwright
family = "reduction"
[sizes]
n = 100
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
"""


@pytest.fixture
def function(tmp_path):
    """Makes a callable of a body over x, out and n."""

    def make(body, head=HEAD, parameters="const float* x, float* out, long n", includes=""):
        (file := tmp_path / "f.cpp").write_text(f"{head}{includes}void f({parameters}) {{ {body} }}\n")
        module = {}
        exec(compile(read_serial(file).source, "task", "exec"), module)
        return module["FUNCTION"]

    return make


def stored(values):
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values, dtype=np.float32))
    return base64.b64encode(buffer.getvalue()).decode()


def test_it_computes_in_single_and_in_double_precision(function):
    third = function("for (long i = 0; i < n; ++i) out[i] = x[i] / 3.0f;", includes="#include <cmath>\n")
    x = torch.randn(100)
    assert torch.equal(third(x), x / 3)
    assert torch.equal(third(x.double()), x.double() / 3)
    assert third(x.double()).dtype == torch.float64


def test_its_own_functions_are_called_and_not_the_c_librarys(tmp_path):
    (file := tmp_path / "f.c").write_text(
        f"{HEAD}int advance(float *out, float v) {{ *out = 2 * v; return 0; }}\n"
        "void f(const float *x, float *out, long n) { for (long i = 0; i < n; ++i) advance(out + i, x[i]); }\n"
    )
    module = {}
    exec(compile(read_serial(file).source, "task", "exec"), module)
    x = torch.randn(100)
    assert torch.equal(module["FUNCTION"](x), 2 * x)


def test_several_in_one_process_do_not_hang(function):
    for factor in range(3):
        scaled = function(f"for (long i = 0; i < n; ++i) out[i] = {factor} * x[i];")
        assert torch.randn(300, 300).mm(torch.randn(300, 300)).shape == (300, 300)
        assert torch.equal(scaled(x := torch.randn(100)), factor * x)


@pytest.mark.parametrize("without_memory", [lambda: torch.device("meta"), FakeTensorMode], ids=["meta", "fake"])
def test_its_size_is_known_from_tensors_without_memory(function, without_memory):
    """So a GPU's memory is planned; the function is built and checked nevertheless."""
    with without_memory():
        twice = function("for (long i = 0; i < n; ++i) out[i] = 2 * x[i];")
        assert twice(*twice.inputs()).shape == (100,)
    assert torch.equal(twice(x := torch.randn(100)), 2 * x)


def test_it_is_not_called_with_less_than_it_reads(function):
    """Its sizes are the specification's: the referee may ask what it makes of a few rows."""
    twice = function("for (long i = 0; i < n; ++i) out[i] = 2 * x[i];")
    for device in ("cpu", "meta"):
        with pytest.raises(ValueError, match=r"x has the shape \(100,\) in this task, not \(99,\)"):
            twice(torch.ones(99, device=device))


def test_torch_exports_it_as_one_operator_that_says_its_family(function):
    twice = function("for (long i = 0; i < n; ++i) out[i] = 2 * x[i];")

    class Model(torch.nn.Module):
        def forward(self, x):
            return twice(x)

    nodes = torch.export.export(Model(), (torch.randn(100),)).graph.nodes
    assert "serial.reduction.default" in [str(node.target) for node in nodes]


def test_what_is_read_and_written_is_returned_and_its_input_stays(function):
    head = HEAD.replace('out = { shape = ["n"] }', "").replace(
        'x = { shape = ["n"] }', 'x = { shape = ["n"], inout = true }'
    )
    plus = function("for (long i = 0; i < n; ++i) x[i] += 1;", head, "float* x, long n")
    x = torch.zeros(100)
    assert torch.equal(plus(x), x + 1)
    assert torch.equal(x, torch.zeros(100))


@pytest.mark.parametrize("other", [-0.01, 1.0, 3.0, -40.0, 1e4, float("nan")])
def test_numbers_that_lead_it_out_of_its_memory_are_refused_and_harm_nobody(function, other):
    head = HEAD.replace('x = { shape = ["n"] }', 'x = { shape = ["n"], values = "uniform" }')
    bins = function("for (long i = 0; i < n; ++i) out[(int)(x[i] * n + (x[i] < 0 ? -1 : 0))] += 1;", head)
    bins = in_double(bins)
    x = torch.full((100,), 0.5, dtype=torch.float64)
    assert bins(x)[50] == 100
    x[3] = other
    with pytest.raises(RuntimeError, match="on such inputs the serial function is at fault"):
        bins(x)


def test_numbers_that_lead_nowhere_are_not_looked_at(function):
    held = function(
        "for (long i = 0; i < n; ++i) { int b = (int)(x[i] * n); out[b < 0 ? 0 : b >= n ? n - 1 : b] += 1; }"
    )
    assert in_double(held)(torch.full((100,), 1e6, dtype=torch.float64))[99] == 100


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for (long i = 0; i <= n; ++i) out[i] = x[i];", "outside of an argument's memory"),
        ("out[0] = x[-1025];", "outside of an argument's memory"),
        ("int big = 2147483647; out[0] = big + static_cast<int>(n);", "signed integer overflow"),
        ("long zero = n - n; out[0] = n / zero;", "division by zero"),
        ("out[0] = unknown;", "does not compile"),
    ],
)
def test_a_faulty_function_is_refused_with_what_was_found(function, body, words):
    with pytest.raises(RuntimeError, match=words):
        function(body)


def test_stored_cases_must_be_reproduced(function):
    twice = "for (long i = 0; i < n; ++i) out[i] = 2 * x[i];"
    spec = function(twice)._spec.model_dump(mode="json")
    code = f"void f(const float* x, float* out, long n) {{ {twice} }}\n"
    case = {"sizes": {"n": 3}, "inputs": {"x": stored([1, 2, 3])}, "outputs": {"out": stored([2, 4, 6])}}
    SerialFunction(code, {**spec, "cases": [case]})
    wrong = {**case, "outputs": {"out": stored([2, 4, 7])}}
    with pytest.raises(RuntimeError, match="does not reproduce the stored case 0: out is off by up to 1"):
        SerialFunction(code, {**spec, "cases": [wrong]})


def test_double_precision_leaves_the_headers_alone():
    spec = SerialSpec(function="f", dialect="cpp", family="scan", arguments=(), sizes={})
    assert as_double(linked("#include <cmath>\nvoid f() {}\n", spec)) == (
        '#include <cmath>\n#define float double\nextern "C" void f();\nvoid f() {}\n'
    )


DRIVER = """
#include <vector>
{body}
int main() {{
  std::vector<float> x({n}), out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5f * i;
  {call}
  return {status};
}}
"""
TWICE = "void twice(const float* x, float* out, long n) { for (long i = 0; i < n; ++i) out[i] = 2 * x[i]; }"


def driver(tmp_path, n=100, call="twice(x.data(), out.data(), x.size()); twice(out.data(), x.data(), 3);", status=0):
    (file := tmp_path / "f.cpp").write_text(HEAD + DRIVER.format(body=TWICE, n=n, call=call, status=status))
    module = {}
    exec(compile(read_serial(file).source, "task", "exec"), module)
    return module["FUNCTION"]


def test_the_inputs_are_what_a_main_of_its_own_passes_first(tmp_path):
    function = driver(tmp_path)
    (x,) = function.inputs()
    assert torch.equal(x, torch.arange(100) * 0.5)
    assert torch.equal(function(x), 2 * x)
    assert torch.equal(function(x.double()), 2 * x.double())
    assert function.inputs()[0] is not x


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n": 64}, r"calls twice with n = 64, and \[sizes\] says 100"),
        ({"call": ""}, "never calls twice"),
        ({"status": 3}, "exit status 3"),
        ({"call": "twice();"}, "does not compile"),
    ],
)
def test_a_main_that_drives_nothing_of_the_task_is_refused(tmp_path, changed, words):
    with pytest.raises(RuntimeError, match=words):
        driver(tmp_path, **changed)
