import torch


class Model(torch.nn.Module):
    """A softmax written out: four passes, and two results that are as large as the input."""

    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)


def get_inputs():
    return [torch.randn(512, 2048)]
