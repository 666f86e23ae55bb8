"""Which modules may start compilers: those whose code does, and not those that speak of it."""

import pytest

from kernelwright.evaluate.backends.cpu.loading import builds, compiles


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "# torch.compile, load_inline",
        '"""Only mentions torch.compile, torch._inductor and cpp_extension."""',
        'class ModelNew:\n    """As torch.compile; from torch import compile; load_inline."""',
        'WHY = "torch.compile load_inline"',
        "def compile(x): return x\nre.compile('torch.compile')",
        "from torch import nn\ncompile = 1",
    ],
)
def test_text_alone_gives_no_right(text):
    assert not builds(text)
    assert not compiles(text)


@pytest.mark.parametrize(
    "text",
    [
        "model = torch.compile(model)",
        "@torch.compile\ndef f(x): return x",
        "@torch.compile(mode='max-autotune')\ndef f(x): return x",
        "from torch import compile",
        "from torch import (\n    nn,\n    compile as faster,\n)",
        "import torch._inductor.config as config",
        "from torch._inductor import config",
        "from torch import _inductor",
        "torch \\\n    .compile(f)",
        'importlib.import_module("torch._inductor.config")',
        "if torch.compile  # does not parse",
    ],
)
def test_one_that_calls_the_compiler_may_start_it(text):
    assert compiles(text)
    assert not builds(text)


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.cpp_extension import load_inline",
        "import torch.utils.cpp_extension as e",
        "torch.utils.cpp_extension.load(name='x', sources=[])",
        'importlib.import_module("torch.utils.cpp_extension")',
    ],
)
def test_one_that_builds_may(text):
    assert builds(text)
