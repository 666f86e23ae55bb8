"""Extensions really built: halves, precompiled header, the ways when something is missing. Minutes on two cores."""

import importlib.util
import subprocess

import pytest
from extension_sources import ALL, PLAIN
from torch.utils import cpp_extension

from kernelwright.errors import MachineError
from kernelwright.evaluate import toolkit
from kernelwright.evaluate.python_extension import build, precompiled
from kernelwright.evaluate.python_extension.build import Build, ExtensionError, Options, Source
from kernelwright.evaluate.python_extension.fast_path import FastPath, _bindings
from lanes import sampled


def has_nvcc():
    try:
        return bool(toolkit.nvcc())
    except MachineError:
        return False


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """Torch's headers as they are read without being precompiled."""
    folder = tmp_path_factory.mktemp("headers")
    precompiled.stand_ins(folder)
    return folder


def extension(folder, headers, text, **options):
    made = Build(folder, Options(f"extension_{abs(hash(text))}", **options), headers, "sm_90a")
    return made, [Source("cuda.cu", text)]


def test_bindings_are_torch_s_own():
    assert _bindings(None, True) == ""
    assert 'm.def("f", torch::wrap_pybind_function(f), "says");' in _bindings({"f": "says"}, True)
    assert 'm.def("f", f, "f");' in _bindings("f", False)


def test_the_precompiled_header_serves_the_candidate_s_level():
    levels = [[], ["-O0"], ["-O3"], ["-O3", "-O0"], ["-g", "-O1"]]
    assert [precompiled.variant_for(flags).name for flags in levels] == [
        "plain", "plain", "optimised", "plain", "optimised",
    ]  # fmt: skip


def test_headers_are_made_once_and_moved_into_place(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(precompiled, "_make", lambda folder, variant: made.append(variant))
    folder = precompiled.precompile(tmp_path / "cache")
    assert made == list(precompiled.VARIANTS)
    assert folder == precompiled.precompile(tmp_path / "cache") == precompiled.place(tmp_path / "cache")
    assert made == list(precompiled.VARIANTS)
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [folder.name]
    assert (folder / "stand-ins/torch/extension.h").exists()
    monkeypatch.setattr(precompiled, "HEADER_TEXT", "another")
    assert precompiled.place(tmp_path / "cache") != folder


def test_a_compiler_that_fails_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(precompiled, "host_compiler", lambda: ["g++", "--no-such-option"])
    with pytest.raises(MachineError, match="cannot be precompiled"):
        precompiled.precompile(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_torch_s_functions_are_replaced_and_nothing_is_loaded_for_an_absent_device(monkeypatch, tmp_path, headers):
    monkeypatch.setattr(cpp_extension, "load_inline", None)
    monkeypatch.setattr(cpp_extension, "load", None)
    asked = []
    monkeypatch.setattr(Build, "library", lambda self, sources: asked.append((self, sources)))
    path = FastPath(headers, "sm_80", only_compile=True)
    path.install()
    module = cpp_extension.load_inline(
        "mine", ["int f();"], cuda_sources="int g();", functions=["f"], extra_cflags=["", "-O3"], verbose=True
    )
    with pytest.raises(AttributeError, match="compiled for a device that is not here"):
        module.f()
    ((made, (main, cuda)),) = asked
    assert (main.name, cuda.name, made.arch, made.options.flags) == ("main.cpp", "cuda.cu", "sm_80", ["-O3"])
    assert main.text.startswith("#include <torch/extension.h>\n")
    assert "PYBIND11_MODULE" in main.text
    assert not list(made.folder.glob("*lock*"))


@pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")
def test_an_error_in_a_kernel_is_told_at_once(tmp_path, headers, monkeypatch):
    """No slow way is tried for what no way could cure."""
    monkeypatch.setattr(Build, "_half", lambda *_: tmp_path)
    monkeypatch.setattr(Build, "_stubs", lambda *_: [])
    wrong, sources = extension(tmp_path, headers, PLAIN.replace("fmaxf", "fmaxg"))
    with pytest.raises(ExtensionError, match=r'cuda\.cu.*identifier "fmaxg" is undefined'):
        wrong.library(sources)


@pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")
def test_what_device_code_misses_from_host_code_sends_it_the_slow_way(tmp_path, headers, monkeypatch):
    monkeypatch.setattr(Build, "_half", lambda *_: tmp_path)
    monkeypatch.setattr(Build, "_stubs", lambda *_: [])
    whole = []
    monkeypatch.setattr(Build, "_whole", lambda self, source: whole.append(source))
    made, sources = extension(tmp_path, headers, PLAIN)
    assert made._split(sources[0]) == ("split", [tmp_path])
    text = PLAIN.replace("x[i], 0.f", "x[i], at::opmath_type<float>(0)")
    made, sources = extension(tmp_path, headers, text)
    way, _ = made._split(sources[0])
    assert way.startswith("whole (its device half does not compile")
    assert whole == sources


@pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")
@pytest.mark.parametrize("name", sampled(ALL, lambda name: False))  # PyTorch's headers alone take half a minute
def test_an_extension_is_built_from_two_halves_and_imported(tmp_path, headers, name):
    function = "sum_cuda" if name == "reduced" else "relu_cuda"
    made, sources = extension(tmp_path, headers, ALL[name])
    main = f"#include <torch/extension.h>\ntorch::Tensor {function}(torch::Tensor x);\n{_bindings([function], True)}"
    library = made.library([Source("main.cpp", main), *sources])
    assert [way for way in made.ways if way.startswith("cuda.cu: split")], made.ways
    spec = importlib.util.spec_from_file_location(made.options.name, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(getattr(module, function))
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    assert "__cudaRegisterFunction" in symbols


def test_only_complaints_of_something_missing_are_tried_again():
    assert build._MISSING.search("error: 'nn' is not a member of 'torch'")
    assert not build._MISSING.search("error: expected ';' before 'return'")
