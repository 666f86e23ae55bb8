import torch


class Model(torch.nn.Module):
    def forward(self, x, gain):
        return torch.nn.functional.softsign(x).abs().sum(1) * torch.exp(8 * gain)


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(1024)]
