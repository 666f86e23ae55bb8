import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x, y, parts, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(x + row * width + lanes, mask=lanes < width, other=float("-inf"))
    largest = tl.max(values)
    loss = largest + tl.log(tl.sum(tl.exp(values - largest))) - tl.load(x + row * width + tl.load(y + row))
    tl.store(parts + row, loss)


@triton.jit
def finish(parts, out, rows, ROWS: tl.constexpr):
    lanes = tl.arange(0, ROWS)
    tl.store(out, tl.sum(tl.load(parts + lanes, mask=lanes < rows, other=0.0)) / rows)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        rows, width = x.shape
        parts, out = torch.empty(rows, device=x.device), torch.empty((), device=x.device)
        rows_kernel[(rows,)](x, y, parts, width, triton.next_power_of_2(width))
        finish[(1,)](parts, out, rows, triton.next_power_of_2(rows), num_warps=8)
        return out
