import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, width, SIDE: tl.constexpr):
    down = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    across = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    tile = tl.load(x + down[:, None] * width + across[None, :])
    tl.store(out + across[:, None] * rows + down[None, :], tl.trans(tile) * 2.0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty(width, rows, device=x.device)
        kernel[(rows // 32, width // 32)](x, out, rows, width, 32)
        return out
