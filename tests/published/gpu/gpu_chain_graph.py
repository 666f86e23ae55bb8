# task: gpu_chain
# truth: right
# speed: any
# claimed: 1.10
# only: cuda
# A CUDA graph with copies in and out.
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.given = torch.empty_like(x)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.relu(self.given * 1.5 + 0.5) * self.given + 1.0
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = torch.relu(self.given * 1.5 + 0.5) * self.given + 1.0
        self.given.copy_(x)
        self.graph.replay()
        return self.result.clone()
