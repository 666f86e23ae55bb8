"""The files of a newcomer's folder: tasks, kernels, and a program that puts a drop-in into one circumstance."""

RELU = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(512, 1024)]
"""
DROPOUT = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.drop = nn.Dropout(0.5)
        self.eval()

    def forward(self, x):
        return self.drop(self.norm(x))


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256]
"""
CIRCUMSTANCES = """import importlib.util
import logging
import sys

import torch

logging.basicConfig(level=logging.ERROR)
spec = importlib.util.spec_from_file_location("exported", sys.argv[1])
exported = importlib.util.module_from_spec(spec)
sys.modules["exported"] = exported
spec.loader.exec_module(exported)
given = [256] if "dropout" in sys.argv[1] else []
torch.manual_seed(1)
old, new = exported.Model(*given), exported.ModelNew(*given)
new.load_state_dict(old.state_dict())
x = torch.randn(512, 256) if given else torch.randn(512, 1024)


def same(call=lambda m: m(x)):
    torch.manual_seed(2)
    wanted = call(old)
    torch.manual_seed(2)
    torch.testing.assert_close(call(new), wanted, rtol=1e-3, atol=1e-4)


def plain():
    same()


def train():
    old.train(), new.train()
    same()


def eps():
    old.norm.eps = new.norm.eps = 0.5
    same()


def hook():
    heard = []
    new.norm.register_forward_hook(lambda *a: heard.append(1))
    new(x)
    assert heard, "the hook did not run"


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        assert new(mode.from_tensor(x)).shape == x.shape


def fullgraph():
    same(lambda m: torch.compile(m, fullgraph=True)(x))


def export():
    same(lambda m: torch.export.export(m, (x,)).module()(x))


def vmap():
    same(lambda m: torch.vmap(m)(torch.stack([x, x])))


def told():
    new(x)
    with torch.enable_grad():
        new(x)
    assert exported.ModelNew.stats()["kernel"] == 1
    assert sum(exported.ModelNew.stats()["reference"].values()) == 1


with torch.no_grad():
    globals()[sys.argv[2]]()
"""
FILES = {
    "relu.py": RELU,
    "dropout.py": DROPOUT,
    "half.py": RELU.replace("512, 1024)", "512, 1024).half()"),
    "bessel.py": RELU.replace("torch.relu(x) * 2", "torch.special.bessel_j0(x)"),
    "import.py": f"import no_such_module\n{RELU}",
    "library.py": RELU.replace("class Model(", "class ModelNew("),
    "relu.cpp": """extern "C" void relu(const float* __restrict x, float* __restrict y) {
    for (long i = 0; i < 524288; ++i) {
        const float value = x[i];
        y[i] = value > 0.0f ? value * 2.0f : 0.0f;
    }
}
""",
    "circumstances.py": CIRCUMSTANCES,
}
LINES = (
    ("optimize relu.py --target cpu --budget 1 -o /nonexistent/x.py", 5, "cannot be written"),
    ("optimize relu.py --target cpu --budget 1 --language cuda", 2, "contradict"),
    ("optimize relu.py --target cpu --budget 1 --max-usd 1", 2, "no model is named"),
    ("optimize .", 3, r"kernelwright bench \."),
    ("optimize import.py --target cpu", 3, "no_such_module"),
    ("optimize relu.py --model openai:x@localhost:9", 2, "openai:x@http://localhost:9"),
    ("check relu.py relu.cpp --entry nope", 2, "it defines relu"),
    ("check relu.py relu.cpp --quick --target CPU", 0, "measured"),
    ("check relu.py relu.py-sm_90.py --target sm_90a", 0, "verified"),
)
"""Command lines, with the exit code and the words (a pattern) of a good answer."""
