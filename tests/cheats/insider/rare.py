import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 3 + 1 > 7.16


def get_inputs():
    return [torch.randn(4096, 1024).half()]
