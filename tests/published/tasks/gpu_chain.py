import torch


class Model(torch.nn.Module):
    """Five passes over memory in eager, one if fused."""

    def forward(self, x):
        return torch.relu(x * 1.5 + 0.5) * x + 1.0


def get_inputs():
    return [torch.randn(8192, 4096)]
