"""Languages as their folders say them: complete, told apart, and each with an example that is one."""

import pytest
from pygments.lexers import get_lexer_by_name

from kernelwright.errors import UsageError
from kernelwright.languages import (
    language,
    language_of,
    languages,
    languages_for,
    likely_suffix,
    names,
    python_code,
    suffixes,
)
from kernelwright.propose.llm.parse import Kernel, parse
from kernelwright.records.candidate import Candidate
from kernelwright.records.chat import ChatReply
from kernelwright.records.technique import Technique


@pytest.mark.parametrize("name", names())
def test_a_contract_tells_what_is_asked_for_and_shows_it(name):
    words, _, example = language(name).contract.partition(f"```{language(name).fence}\n")
    assert words.startswith("One complete ")
    assert isinstance(parse(ChatReply(text=f"```\n{example}", model="m"), name), Kernel)
    assert language_of(example.partition("\n```")[0], language(name).suffix).name == name


@pytest.mark.parametrize("each", languages(), ids=lambda each: each.name)
def test_a_language_is_whole(each):
    assert get_lexer_by_name(each.lexer)
    assert each.targets
    assert (each.form == "module") == (not each.types)
    assert each.form != "module" or each.syntax == "python"
    sharing = [other for other in languages() if other.suffix == each.suffix and other.form != "module"]
    assert each.form == "module" or len(sharing) == 1 or each.told_by


def test_the_order_says_what_is_usual():
    assert len({each.order for each in languages()}) == len(languages())
    assert [languages_for(kind)[0].name for kind in ("cpu", "cuda", "hip")] == ["cpp", "triton", "triton"]
    assert languages_for("nothing") == ()
    assert suffixes()[0] == ".cpp"


def test_an_unknown_language_names_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown language 'rust'.*cpp, triton"):
        language("rust")
    with pytest.raises(UsageError, match=r"must be one of \.cpp"):
        language_of("fn main() {}", ".rs")
    with pytest.raises(ValueError, match="'cpp', 'triton'"):
        Candidate(language="rust", source="")


def test_the_names_stand_in_the_schemas():
    for record, field in ((Candidate, "language"), (Technique, "languages")):
        found = record.model_json_schema()["properties"][field]
        assert found.get("items", found)["enum"] == list(names())


def test_a_text_without_a_file_looks_like_what_its_device_takes():
    assert likely_suffix("import triton", "cuda") == ".py"
    assert likely_suffix("int x;", "cuda") == ".cu"
    assert likely_suffix("import torch", "cpu") == ".py"
    assert likely_suffix("int x;", "cpu") == ".cpp"


@pytest.mark.parametrize(
    "before",
    [
        '__attribute__((visibility("default"))) void',
        "[[gnu::noinline]] void",
        'void __attribute__((noinline, target("avx2")))',
        '__attribute__((aligned(64))) static inline int helper(int x) { return x; }\nextern "C" void',
    ],
)
def test_attributes_are_no_names(before):
    source = f'extern "C" {before} entry(const float* x, float* y) {{ y[0] = x[0]; }}\n'
    assert "entry" in language("cpp").functions(source)
    assert "__attribute__" not in language("cpp").functions(source)


def test_a_module_that_builds_nothing_is_for_the_device_that_it_is_judged_on():
    plain, triton, building = "import torch", "import triton", "from torch.utils.cpp_extension import load_inline"
    assert language_of(plain, ".py", "cpu").name == "python"
    assert language_of(plain, ".py", "cuda").name == "triton"
    assert language_of(triton, ".py", "cpu").name == "triton"
    assert {language_of(building, ".py", kind).name for kind in ("", "cpu", "cuda")} == {"python"}


@pytest.mark.parametrize(
    "text",
    [
        "# load_inline",
        '"""Unlike load_inline, this is plain."""',
        'def f():\n    """load_inline"""',
        'OWN = "load_inline"',
        'print("load_inline")',
        'f"load_inline {1 + 1}"',
        "x = ('load_'\n     'inline')  # cpp_extension",
    ],
)
def test_what_a_module_only_says_is_no_code(text):
    assert "load_inline" not in python_code(text)
    assert language("python").leaves_all(f"import torch\n{text}\n")
    assert not language("python").tells(f"import torch\n{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.cpp_extension import load_inline",
        "from torch.utils import (\n    cpp_extension,  # builds\n)",
        'importlib.import_module("torch.utils.cpp_extension")',
        "__import__('torch.utils.cpp_extension')",
        'f"{torch.utils.cpp_extension}"',
        "if load_inline  # does not parse",
        "x = 1" + " + 1" * 20_000 + "\nload_inline()",
    ],
)
def test_what_a_module_does_is_code(text):
    assert not language("python").leaves_all(text)
    assert language("python").tells(text)


@pytest.mark.parametrize(
    "text", ["from torch import compile", "f = torch.compile(f)", "import ctypes", "import numpy as np"]
)
def test_a_module_may_compute_by_other_means(text):
    assert not language("python").leaves_all(text)


def test_a_bad_escape_in_a_string_is_no_matter(recwarn):
    assert python_code("x = '\\d'  # load_inline") == "x = ''"
    assert not recwarn


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ("const float* x, const float *__restrict__ y, float* out", 3),
        ("const float* /* a, b */ x,\n  float* out // c, d\n", 2),
        ("[[maybe_unused]] const std::uint16_t* x, float out[], void* const workspace", 3),
        ("float*", 1),
        ("", 0),
        ("void", 0),
        # Nothing of these is certain.
        ("const float* x, int n", None),
        ("const float& x, float* out", None),
        ("TWO y, float* out", None),
        ("TWO* y, float* out", None),
        ("const std::array<float, 2>* x, float* out", None),
        ("float (*f)(float), float* out", None),
        ("\n#if N\nconst float* x,\n#endif\nfloat* out", None),
    ],
)
def test_pointers_of_a_function_are_counted_where_the_text_says_how_many(parameters, count):
    before = "#define TWO const float* x, const float*\n// void kernel(float* a) {}\n"
    source = f'{before}extern "C" void kernel({parameters}) {{ other(1, 2); }}\nstatic void other(int a, int b) {{}}\n'
    assert language("cpp").pointers(source, "kernel") == count


def test_two_definitions_must_agree_and_a_declaration_is_none():
    first, second = "void kernel(float* a, float* b) {}", "void kernel(float* a) {}"
    cpp = language("cpp")
    assert cpp.pointers(f"#if A\n{first}\n#else\n{first}\n#endif", "kernel") == 2
    assert cpp.pointers(f"#if A\n{first}\n#else\n{second}\n#endif", "kernel") is None
    assert cpp.pointers(first.replace("{}", ";") + second, "kernel") == 1
    assert cpp.pointers(f"#define kernel other\n{first}", "kernel") is None
    assert cpp.pointers(first, "other") is None


def test_a_stream_is_no_pointer_to_a_tensor():
    host = language("cuda_host")
    assert host.pointers("void kernel(const float* x, float* out, cudaStream_t stream) {}", "kernel") == 2
    assert host.pointers("void kernel(const float* x, float* out, void* stream) {}", "kernel") is None
