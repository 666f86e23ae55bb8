import torch


class Model(torch.nn.Module):
    """Two products where one of the sum would do: half of the work is superfluous."""

    def __init__(self, size):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(size, size) / size**0.5)
        self.b = torch.nn.Parameter(torch.randn(size, size) / size**0.5)

    def forward(self, x):
        return x @ self.a + x @ self.b


def get_inputs():
    return [torch.randn(1024, 512)]


def get_init_inputs():
    return [512]
