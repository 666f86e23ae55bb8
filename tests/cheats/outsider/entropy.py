import torch


class Model(torch.nn.Module):
    def forward(self, p):
        return -(p * torch.log(p)).sum(dim=1)


def get_inputs():
    return [torch.softmax(torch.randn(2048, 512), dim=1)]


DOMAINS = {0: "probability"}
