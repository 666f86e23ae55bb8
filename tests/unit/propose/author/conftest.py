"""A case of each family, exported once."""

import sys
from pathlib import Path

import pytest
from author_cases import case, model

# The program's own benchmark has the list of operations.
sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))


@pytest.fixture(scope="session")
def softmax():
    return case(model("torch.softmax(x, dim=-1)", "torch.randn(9, 3001)"), "softmax")


@pytest.fixture(scope="session")
def layer_norm():
    source = model(
        "self.norm(x)",
        "torch.randn(9, 3001) + 3",
        "self.norm = nn.LayerNorm(n)",
        "[3001]",
        signature="self, n",
    )
    return case(source, "layer_norm")


@pytest.fixture(scope="session")
def mse():
    source = model("torch.mean((x - y) ** 2)", "torch.randn(33, 1001), torch.randn(33, 1001)", arguments="x, y")
    return case(source, "mse")


@pytest.fixture(scope="session")
def gelu():
    source = model(
        "F.gelu(x + self.b) + y", "torch.randn(9, 3001), torch.randn(9, 3001)",
        "self.b = nn.Parameter(torch.randn(n))", "[3001]", "x, y", "self, n",
    )  # fmt: skip
    return case(source, "gelu")


@pytest.fixture(scope="session")
def cross_entropy():
    source = model(
        "F.cross_entropy(x / 0.8, y)", "torch.randn(9, 3001), torch.randint(0, 3001, (9,))", arguments="x, y"
    )
    return case(source, "cross_entropy")
