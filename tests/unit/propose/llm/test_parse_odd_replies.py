"""Kernels out of replies that mix things: JSON in any place, edits beside a source, fences in docstrings, tags of XML."""

import json
import time

import pytest
from kernel_replies import BETTER, CPP, LOOP, OTHER, candidate_in, edit, lines, lines_in, read_reply, reason_in

from kernelwright.propose.llm.parse import scan

TRITON = '''import torch
import triton


@triton.jit
def k(x, out):
    pass


class ModelNew(torch.nn.Module):
    """The absolute value.

    ```python
    ModelNew()(x)
    ```
    """

    def forward(self, x):
        out = torch.empty_like(x)
        k[(1,)](x, out)
        return out
'''
PLAIN = TRITON.replace("    ```python\n", "").replace("    ```\n", "")
BROKEN = PLAIN.replace("def forward(self, x):", "def forward(self, x)")
CUDA = """/* kernelwright
[[launch]]
kernel = "k"
grid = 1
block = 8
arguments = ["in0", "out0"]
*/
__global__ void k(const float* x, float* out) {
  out[threadIdx.x] = x[threadIdx.x];
}
"""


def indented(text, blanks="   "):
    return "".join(f"{blanks}{line}\n" if line else "\n" for line in text.split("\n"))


def block(source, tag="cpp"):
    return f"```{tag}\n{source}```"


REPLIES = {
    "prose and bare JSON": f"Here it is, in the form that you asked for:\n{json.dumps({'code': CPP})}\nGood luck!",
    "JSON in a fence without a tag": f"```\n{json.dumps({'code': CPP})}\n```",
    "JSON in a fence of another tag": f"```python\n{json.dumps({'code': CPP}, indent=1)}\n```",
    "broken JSON after prose": 'The kernel is {"code": "' + CPP.replace('"', '\\"') + '", "why": }',
    "JSON that says where the kernel is": block('{"code": "see below"}\n', "json") + f"\n{block(CPP)}",
    "an edit that does not apply, and the whole": f"{edit('  nothing();', 'x')}\nThe whole:\n```cpp\n{CPP}```",
    "an edit of a kernel that does not apply, and the whole": f"```cpp\n{CPP}```\n```cpp\n{edit(OTHER, CPP)}```",
    "an edit that is never closed, and the whole": f"```cpp\n{edit(CPP, 'x', '')}```\n```cpp\n{CPP}```",
    "an edit of nothing into a file": edit("", CPP.rstrip()),
    "an edit of nothing into a file, in a block": f"kernel.cpp\n```cpp\n{edit('', CPP.rstrip())}```",
    "CDATA": f"<kernel><![CDATA[{CPP}]]></kernel>",
    "CDATA on lines of its own": f"Here:\n<kernel>\n<![CDATA[\n{CPP}]]>\n</kernel>\nIt is fast;",
    "CDATA behind the last brace": f"<![CDATA[\n{CPP.rstrip()}]]>",
    "CDATA in a block": f"```cpp\n<![CDATA[\n{CPP}]]>\n```",
    "a tag around it": f"<kernel>\n{CPP}</kernel>",
    "a tag with attributes": f'<code language="cpp">\n{CPP}</code>',
    "a tag in a block": f"```cpp\n<kernel>\n{CPP}</kernel>\n```",
    "a tag behind the fence": f"<answer>```cpp\n{CPP}```</answer>\nIt is fast.",
    "a tag in JSON": json.dumps({"code": f"<kernel>\n{CPP}</kernel>"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_a_kernel_is_found(name):
    assert lines_in(REPLIES[name], parent=OTHER) == lines(CPP)


def test_json_in_a_fence_is_not_the_source():
    assert lines_in(f"```\n{json.dumps({'code': CUDA})}\n```", "cuda") == lines(CUDA)


def test_a_source_that_holds_json_is_the_source():
    source = CPP.replace("#include", '// {"code": "none"}\n#include')
    assert lines_in(f"Here:\n{source}") == lines(source)


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        (edit("  nothing();", "x"), "stop", "do not stand in the candidate's source"),
        (f"```cpp\n{edit(CPP.rstrip(), OTHER)}```", "stop", "do not stand in the candidate's source"),
        (edit(LOOP, BETTER) + edit(CPP, "x", ""), "stop", "SEARCH block 2 has no end"),
        (edit(LOOP, BETTER) + edit(CPP, "x", "")[:40], "length", "cut off at the limit"),
        (f"```cpp\n{edit(CPP, 'x', '')}", "stop", "SEARCH block 1 has no end"),
    ],
)
def test_edits_alone_are_no_source(text, finish, reason):
    assert reason in reason_in(text, parent="int x;\n" if reason.startswith("do not") else CPP, finish=finish)


@pytest.mark.parametrize(
    "text",
    [
        f"1. Change it:\n\n{indented(block(edit(LOOP, BETTER)))}",
        indented(edit(LOOP, BETTER), "\t"),
        f"   {edit(LOOP, BETTER)}",
    ],
)
def test_an_edit_in_a_list_is_applied(text):
    assert lines_in(text, parent=CPP) == lines(OTHER)


def test_of_two_sources_the_new_one_is_taken():
    text = f"New:\n```cpp\n{OTHER}```\nFor comparison, the original was:\n```cpp\n{CPP}```"
    assert lines_in(text, parent=f"{CPP}\n") == lines(OTHER)
    assert lines_in(text) == lines(CPP)
    assert lines_in(f"```cpp\n{CPP}```", parent=CPP) == lines(CPP)


DIFF = """--- a/kernel.cpp
+++ b/kernel.cpp
@@ -3,4 +3,3 @@
 int a() {
---i;
+++i;
 }
--- a/other.cpp
+++ b/other.cpp
@@ -6,3 +5,3 @@
-int first;
+int second;
"""


def test_a_line_that_begins_with_minuses_is_a_line():
    parent = f"int first;\nint a() {{\n--i;\n}}\n{CPP}"
    found = candidate_in(block(DIFF, "diff"), parent=parent)
    assert found.source == parent.replace("--i", "++i").replace("first", "second")


MODULES = {
    "one block": f"```python\n{TRITON}```",
    "prose around": f"The idea:\n```\ny = abs(x)\n```\nThe module:\n```python\n{TRITON}```\nFast.",
    "a test after it": f"```python\n{TRITON}```\nTry it:\n```python\nprint(ModelNew()(torch.ones(3)))\n```\n",
    "in a list": f"1. This:\n\n{indented(block(TRITON, 'python'))}",
    "unclosed": f"The module:\n```python\n{TRITON}",
}


@pytest.mark.parametrize("name", MODULES)
def test_a_fence_in_a_docstring_ends_no_module(name):
    assert lines_in(MODULES[name], "triton") == lines(TRITON)


def test_of_two_modules_the_one_that_is_python_is_taken():
    assert lines_in(f"```python\n{PLAIN}```\nA sketch of more:\n```python\n{BROKEN}```", "triton") == lines(PLAIN)


def test_pieces_of_a_module_are_no_kernel():
    cut = TRITON.replace("def k(x, out):", "def k(x, out)")
    assert "no block of it is a whole Python module" in reason_in(f"```python\n{cut}```", "triton")


def test_a_module_with_an_error_of_its_own_is_the_referees_to_tell():
    assert lines_in(f"```python\n{BROKEN}```", "triton") == lines(BROKEN)


def test_prose_around_a_broken_module_is_no_kernel():
    assert "line 1" in reason_in(f"import what you need, then:\n{BROKEN}", "triton")


def test_edits_are_found_in_one_pass():
    given = iter(["<<<<<<< SEARCH"] * 1000 + ["a", "=======", "b", ">>>>>>> REPLACE"] + ["<<<<<<< SEARCH", "="] * 1000)
    found = scan(given)
    assert [(e.old, e.new) for e in found.edits] == [(["a"], ["b"])]
    assert found.unfinished == 1
    assert next(given, None) is None


LOOPS = {
    "edits": "<<<<<<< SEARCH\n",
    "half edits": "<<<<<<< SEARCH\n=======\n",
    "thoughts": "<think>\n",
    "ends of thoughts": "<think>\n</reasoning></think>\n",
    "fences": "```python\n",
    "blanks behind a fence": f"```{' ' * 100}\n",
    "tags": "<kernel><![CDATA[ ",
    "braces": '{"code": ',
}
ENTRY = '```cpp\nextern "C" '
SOURCES = {
    "words of a block": (f"{ENTRY}{{", "a "),
    "words of a function": (ENTRY, "a "),
    "blocks": (ENTRY, '{ extern "C" '),
    "comments": (ENTRY, "/* "),
    "plans": ("```cuda\n__global__ ", "/* kernelwright\n"),
    "comments behind a plan": (block(CUDA, "cuda").removesuffix("}\n```"), "/* "),
}


def growth(text, language="cpp"):
    """How many times as long it takes to read what `text` makes of four times as many characters."""

    def took(characters):
        reply = text(characters)
        begun = time.process_time()
        read_reply(reply, language)
        return time.process_time() - begun

    short, long = (min(took(n) for _ in range(4)) for n in (20_000, 80_000))
    return long / short


@pytest.mark.parametrize("language", ["cpp", "triton"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_reply_that_loops_is_read_in_time_that_grows_with_its_length(name, language):
    loop = LOOPS[name]
    assert growth(lambda characters: loop * (characters // len(loop)), language) < 10, "sixteen would be its square"


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_loops_is_read_in_time_that_grows_with_its_length(name):
    head, loop = SOURCES[name]
    language = "cuda" if head.startswith("```cuda") else "cpp"
    assert growth(lambda characters: f"{head}{loop * (characters // len(loop))}\n```", language) < 10


def test_blanks_behind_a_fence_are_read_in_time_that_grows_with_their_number():
    assert growth(lambda blanks: f"```{' ' * blanks}`") < 10
