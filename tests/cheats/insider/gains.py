import torch


class Model(torch.nn.Module):
    def forward(self, x, gain):
        return torch.nn.functional.softsign(x) * torch.exp(8 * gain)[:, None]


def get_inputs():
    return [torch.randn(4096, 1024), torch.randn(4096)]
