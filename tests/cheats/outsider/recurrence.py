import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(1024, 1024) / 32)

    def forward(self, x):
        h = torch.nn.functional.hardtanh(x[0])
        for t in range(1, 3):
            h = torch.nn.functional.hardtanh(x[t] + h @ self.w)
        return h


def get_inputs():
    return [torch.randn(3, 1, 1024)]
