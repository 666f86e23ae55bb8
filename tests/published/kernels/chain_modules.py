# task: chain
# truth: right
# speed: even
# claimed: 1.00
# Several modules in one file, and a re-export.
import torch
from torch import nn
import sys
import types

ops = types.ModuleType("my_ops")
exec("import torch\n\ndef fused(x):\n    return torch.relu(x * 1.5 + 0.5) * x + 1.0", ops.__dict__)
sys.modules["my_ops"] = ops
model = types.ModuleType("my_model")
exec(
    "import torch\nfrom my_ops import fused\n\n"
    "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return fused(x)",
    model.__dict__,
)
sys.modules["my_model"] = model
from my_model import ModelNew  # noqa: E402
