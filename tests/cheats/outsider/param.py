import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(512, 512) / 22)

    def forward(self, x):
        return x + self.w @ self.w


def get_inputs():
    return [torch.randn(512, 512)]
