"""Kernels out of replies as they really come."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_replies import BETTER, CPP, LOOP, OTHER, candidate_in, edit, lines, lines_in, read_reply, reason_in

from kernelwright.propose.llm.parse import Kernel, NoKernel
from kernelwright.records.candidate import Tunable

TRITON = """import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def k(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.abs(tl.load(x + at, mask=at < n)), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        k[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), BLOCK=BLOCK)
        return out
"""
CUDA = """/* kernelwright
[tunables]
BLOCK = [256, 512]

[[launch]]
kernel = "k"
grid = "ceil_div(in0.numel, BLOCK)"
block = "BLOCK"
arguments = ["in0", "out0", "i32(in0.numel)"]
*/
__global__ void k(const float* x, float* out, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] = fabsf(x[i]);
}
"""
CUDA_HOST = """#include <cuda_runtime.h>
__global__ void k(const float* x, float* out, int n) { out[threadIdx.x] = x[threadIdx.x]; }
extern "C" void kernel(const float* x, float* out, cudaStream_t stream) { k<<<1, 8, 0, stream>>>(x, out, 8); }
"""
PYTHON = TRITON.replace("import triton\n", "from torch.utils.cpp_extension import load_inline\n", 1)
HEAD, TAIL = TRITON.split("class ModelNew")
ESCAPED = CPP.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


REPLIES = {
    "one block": f"```cpp\n{CPP}```",
    "prose around": f"Sure! Here is it.\n\n```cpp\n{CPP}```\n\nIt is fast because `x` is read once.",
    "no tag": f"```\n{CPP}```",
    "a tag in capitals and a file name": f"```C++ kernel.cpp\n{CPP}```",
    "tildes": f"~~~cpp\n{CPP}~~~",
    "a longer fence": f"`````cpp\n{CPP}`````",
    "an indented block": "1. This:\n\n" + "\n".join("   " + line for line in f"```cpp\n{CPP}```".split("\n")),
    "an unclosed fence": f"```cpp\n{CPP}",
    "no fence at all": CPP,
    "no fence, prose around": f"Here is the kernel you asked for\n\n{CPP}\nHope this helps",
    "windows newlines": f"```cpp\n{CPP}```".replace("\n", "\r\n"),
    "a byte order mark": f"\ufeff```cpp\n{CPP}```",
    "reasoning before": f"<think>\nMaybe ```cpp\nint wrong;\n```?\n</think>\n```cpp\n{CPP}```",
    "the end of a reasoning": f"so it must be abs.\n```cpp\n{OTHER}```\n</think>\n```cpp\n{CPP}```",
    "a draft and then the kernel": f"First try:\n```cpp\n{OTHER}```\nBetter:\n```cpp\n{CPP}```",
    "a build command after it": f"```cpp\n{CPP}```\nBuild with\n```bash\ng++ -O3 kernel.cpp\n```",
    "a usage example after it": f"```cpp\n{CPP}```\n```cpp\nint main() {{ return 0; }}\n```",
    "the reference before it": f"```python\nclass Model: pass\n```\n```cpp\n{CPP}```",
    "a draft that is never closed after it": f"```cpp\n{CPP}```\nOr:\n```cpp\n{OTHER[:60]}",
    "entities of a page": f"```cpp\n{ESCAPED}```",
    "JSON": json.dumps({"thought": "x", "code": CPP}),
    "JSON in a block": f"```json\n{json.dumps({'kernel': CPP})}\n```",
    "JSON with a fence in it": json.dumps({"code": f"```cpp\n{CPP}```"}),
    "JSON escaped twice": json.dumps({"code": json.dumps(CPP)[1:-1]}),
    "JSON with raw newlines": '{"code": "' + CPP.replace('"', '\\"') + '"}',
    "JSON without an end": json.dumps({"code": CPP, "note": "a long explanation"})[:-12],
    "JSON with prose before": "Here:\n```json\n" + json.dumps({"source": CPP}, indent=2) + "\n```",
    "JSON as Python writes it": '{"code": """' + "\n" + CPP + '"""}',
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_kernel_is_found(name):
    found = candidate_in(REPLIES[name])
    assert lines(found.source) == lines(CPP)
    assert found.entry == "kernel"


MODULES = {
    "one block": f"```python\n{TRITON}```",
    "no fence": TRITON,
    "no fence, prose around": f"Here is the module:\n\n{TRITON}\nIt uses one program for each block.",
    "unclosed": f"The module:\n```python\n{TRITON}",
    "a test after it": f"```python\n{TRITON}```\n```python\nprint(ModelNew()(torch.ones(3)))\n```",
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_found(name):
    found = candidate_in(MODULES[name], "triton")
    assert lines(found.source) == lines(TRITON)
    assert (found.language, found.entry) == ("triton", "ModelNew")


def test_a_module_in_parts_is_put_together():
    found = candidate_in(
        f"The kernel:\n```python\n{HEAD}```\nThe module:\n```python\nclass ModelNew{TAIL}```", "triton"
    )
    assert "@triton.jit" in found.source
    assert "class ModelNew" in found.source


@pytest.mark.parametrize(
    ("language", "source", "entry"),
    [("cuda", CUDA, "k"), ("cuda_host", CUDA_HOST, "kernel"), ("python", PYTHON, "ModelNew")],
)
def test_every_language_has_its_contract(language, source, entry):
    tag = "python" if language == "python" else "cuda"
    found = candidate_in(f"```{tag}\n{source}```", language)
    assert (found.language, found.entry) == (language, entry)
    assert (found.recipe is not None) == (language == "cuda")


NOTHING = {
    "nothing": ("", "stop", "it was empty"),
    "blanks": (" \n\n", "stop", "it was empty"),
    "cut before any text": ("", "length", "cut off before any text"),
    "reasoning only": ("<think>\nLet me see", "length", "still reasoning"),
    "prose": ("I would use SIMD and unroll by four.", "stop", "holds no kernel"),
    "a refusal": ("I cannot help with that.", "refusal", "refused"),
    "a silent refusal": ("", "refusal", "refused"),
    "cut within the block": (f"```cpp\n{CPP[:80]}", "length", "cut off at the limit"),
    "cut within JSON": (json.dumps({"code": CPP})[:90], "length", "cut off at the limit"),
    "cut without a fence": (CPP[:90], "length", "cut off at the limit"),
    "another language": (f"```python\n{TRITON}```", "stop", "holds no kernel"),
    "no single entry": (
        '```cpp\nextern "C" void a() {}\nextern "C" void b() {}\n```',
        "stop",
        "it has 2 such functions",
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_reply_without_a_kernel_says_why(name):
    text, finish, reason = NOTHING[name]
    assert reason in reason_in(text, finish=finish)


def test_a_whole_block_counts_though_the_reply_was_cut_after_it():
    assert candidate_in(f"```cpp\n{CPP}```\nIt works because", finish="length")


@pytest.mark.parametrize(
    ("language", "text"),
    [("triton", PYTHON), ("python", TRITON), ("cuda", CUDA_HOST), ("cuda_host", CUDA)],
)
def test_another_contract_than_the_asked_one_is_told(language, text):
    assert "what was asked for is" in reason_in(f"```\n{text}```", language)


def test_a_broken_launch_plan_is_told_with_its_cure():
    assert "'grit'" in reason_in(f"```cuda\n{CUDA.replace('grid =', 'grit =')}```", "cuda")


DIFF = f"""--- a/kernel.cpp
+++ b/kernel.cpp
@@ -3,3 +3,3 @@
 extern "C" void kernel(const float* x, float* out) {{
-{LOOP}
+{BETTER}
 }}
"""
EDITS = {
    "a search": edit(LOOP, BETTER),
    "a search in a block": "```cpp\n" + edit(LOOP, BETTER) + "```",
    "a search with blanks at its end": edit(LOOP + "  ", BETTER),
    "a diff": f"```diff\n{DIFF}```",
    "a diff without a fence": DIFF,
    "a diff with wrong numbers": f"```diff\n{DIFF.replace('-3,3 +3,3', '-90,7 +90,7')}```",
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_applied_to_the_parent(name):
    assert lines_in(EDITS[name], parent=CPP) == lines(OTHER)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (edit("  nothing like it", "x"), "do not stand in the candidate's source"),
        (edit("", "x"), "has no old lines"),
        (f"```diff\n{DIFF.replace('std::abs', 'std::sin')}```", "do not stand in the candidate's source"),
    ],
)
def test_an_edit_that_does_not_apply_says_why(text, reason):
    assert reason in reason_in(text, parent=CPP)


def test_an_edit_with_two_places_is_not_guessed():
    assert "stand there 2 times" in reason_in(edit("  a();", "  b();"), parent="  a();\n  a();\n")


def test_what_a_source_declares_is_read():
    source = (
        "// tunable BLOCK: 64 128, 256\n// tunable CLOSED: 1 2\n// workspace: 4096\n// flags: -ffast-math -O2\n"
        f"#ifndef BLOCK\n#define BLOCK 128\n#endif\n{CPP}"
    )
    found = candidate_in(f"```cpp\n{source}```")
    assert found.tunables == (Tunable(name="BLOCK", values=(128, 64, 256)),)
    assert found.workspace_bytes == 4096
    assert found.flags == ("-ffast-math", "-O2")


def test_a_modules_open_integers_are_read():
    found = candidate_in(f"```python\n# tunable BLOCK: 512 256\n{TRITON}```", "triton")
    assert found.tunables == (Tunable(name="BLOCK", values=(256, 512)),)


def test_an_extern_block_has_its_kernel():
    source = 'extern "C" {\nvoid kernel(const float* x, float* out) { out[0] = x[0]; }\n}\n'
    found = candidate_in(f"```cpp\n{source}```")
    assert found.entry == "kernel"


def test_braces_without_end_are_read_in_bounded_time():
    assert reason_in("{" * 20_000)


def test_halves_of_characters_cannot_reach_a_file():
    found = candidate_in(
        '{"code": "// \\ud83d\\ude00 \\ud800 \\u0000\\n' + CPP.replace('"', '\\"').replace("\n", "\\n") + '"'
    )
    assert "\U0001f600 \ufffd \n" in found.source
    assert found.model_dump_json().encode()


PIECES = st.sampled_from(
    ["```", "```cpp\n", "```json\n", "~~~\n", "\n", "{", "}", '"code": "', '\\n', "\\ud800", "<think>", "</think>",
     "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "@@ -1 +1 @@\n", "-a\n", "+b\n", "/* kernelwright\n", "*/",
     "[[launch]]\n", CPP, TRITON, CUDA, 'extern "C" {', "class ModelNew", "&lt;", "\x00", "\ud800", "prose. "]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["cpp", "triton", "cuda", "cuda_host", "python"]))
def test_no_reply_breaks_the_reader(text, language):
    for finish in ("stop", "length"):
        found = read_reply(text, language, parent=CPP, finish=finish)
        assert isinstance(found, Kernel | NoKernel)
        assert found[0] if isinstance(found, NoKernel) else found.candidate.model_dump_json()
