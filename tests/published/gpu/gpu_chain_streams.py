# task: gpu_chain
# truth: right
# speed: any
# claimed: 1.10
# only: cuda
# Streams that are waited for.
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    def forward(self, x):
        y = torch.empty_like(x)
        here = torch.cuda.current_stream()
        for stream, part, out in zip(self.streams, x.chunk(2), y.chunk(2)):
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                out.copy_(torch.relu(part * 1.5 + 0.5) * part + 1.0)
        for stream in self.streams:
            here.wait_stream(stream)
        return y
