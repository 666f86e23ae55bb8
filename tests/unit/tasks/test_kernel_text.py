"""A kernel in a text: its language and its entry are told without a file."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.propose.llm.parse import Kernel, read
from kernelwright.records.candidate import Tunable
from kernelwright.tasks.kernel_file import parse_text, read_kernel

CPP = 'extern "C" void kernel(const float* x, float* y) {}\n'
PLAN = """/* kernelwright
[[launch]]
kernel = "k"
grid = 1
block = 32
arguments = ["in0"]
*/
__global__ void k(float* x) {}
"""
HOST = "#include <cuda_runtime.h>\n__global__ void k() {}\n" + CPP
TRITON = "import triton\n\nclass ModelNew:\n    pass\n"
INLINE = "from torch.utils.cpp_extension import load_inline\n" + TRITON


@pytest.mark.parametrize(
    ("source", "target", "language"),
    [
        (CPP, "cpu", "cpp"),
        (PLAN, "cuda", "cuda"),
        (HOST, "cuda", "cuda_host"),
        (TRITON, "cuda", "triton"),
        (INLINE, "cuda", "python"),
    ],
)
def test_the_language_is_told_by_target_and_text(source, target, language):
    assert parse_text(source, target).language == language
    assert parse_text(source, target, language).language == language


def test_what_a_text_declares_is_read_as_it_is_of_a_reply():
    declared = "// tunable BLOCK: 64 128\n// workspace: 4096\n// flags: -funroll-loops\n"
    source = declared + "#ifndef BLOCK\n#define BLOCK 64\n#endif\n" + CPP
    found = parse_text(source, "cpu")
    assert (found.tunables, found.workspace_bytes) == ((Tunable(name="BLOCK", values=(64, 128)),), 4096)
    assert found.flags == ("-funroll-loops",)
    assert read(source, "cpp") == Kernel(found)


def test_the_function_called_kernel_is_the_entry_among_several():
    two = CPP + 'extern "C" int helper() { return 1; }\n'
    assert parse_text(two, "cpu").entry == "kernel"
    assert parse_text(CPP.replace("kernel", "gelu"), "cpu").entry == "gelu"


BLOCK = """extern "C" {
static int twice(int n) { return n < 0 ? 0 : 2 * n; }
void kernel(const float* x, float* y) { for (int i = 0; i < twice(1); ++i) { y[i] = x[i]; } }
}
void gelu(float* x) {}
"""


def test_a_function_in_a_block_with_c_linkage_is_an_entry():
    found = parse_text(BLOCK, "cpu")
    assert found.entry == "kernel"
    assert read(BLOCK, "cpp") == Kernel(found)
    assert parse_text("__global__ void k() {}\n" + BLOCK, "cuda").language == "cuda_host"
    with pytest.raises(UsageError, match=r"it has none"):
        parse_text(BLOCK.partition("}\n}\n")[2], "cpu")


def test_python_may_be_named_for_a_module_that_does_not_look_it():
    assert parse_text(TRITON, "cuda", "python").language == "python"


@pytest.mark.parametrize(
    ("source", "target", "language", "said"),
    [
        ("", "cpu", None, "empty"),
        ("a\0", "cpu", None, "NUL"),
        ("\ud800", "cpu", None, "surrogates"),
        ("int x;", "cpu", None, "call it `kernel`"),
        (PLAN.replace("[[launch]]", "[[lunch]]"), "cuda", None, "plan"),
        (HOST, "cuda", "cuda", "reads as cuda_host"),
        (PLAN, "cuda", "cuda_host", "reads as cuda"),
    ],
)
def test_what_cannot_be_a_kernel_is_told_with_its_cure(source, target, language, said):
    with pytest.raises(UsageError, match=said) as caught:
        parse_text(source, target, language)
    assert "--entry" not in str(caught.value)


DECLARING = """// flags: -O1 -DSCALE=3
// workspace: 4096
// tunable T: 8, 16
#ifndef T
#define T 8
#endif
"""


@pytest.mark.parametrize("given", [0, 512])
def test_a_file_is_read_with_what_it_declares(tmp_path, given):
    """Whoever checks a file gets what whoever audits or proposes its text gets; what a person gives goes before."""
    file = tmp_path / "kernel.cpp"
    file.write_text(DECLARING + CPP)
    read_in_file, told = read_kernel(file, workspace_bytes=given), parse_text(DECLARING + CPP, "cpu")
    assert told.workspace_bytes == 4096
    assert read_in_file == told.model_copy(update={"workspace_bytes": given or 4096})
    assert read_in_file.flags == ("-O1", "-DSCALE=3")
    assert read_in_file.tunables == (Tunable(name="T", values=(8, 16)),)
