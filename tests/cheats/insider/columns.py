import torch


class Model(torch.nn.Module):
    def forward(self, x, gain):
        return torch.nn.functional.softsign(x) * torch.exp(8 * gain).repeat_interleave(16)


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(64)]
