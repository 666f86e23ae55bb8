import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x).cumsum(dim=0)


def get_inputs():
    return [torch.randn(2048)]
