import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, rows, ROWS):
        places = (start + tl.arange(0, ROWS))[:, None] * width + columns[None, :]
        inside = (start + tl.arange(0, ROWS) < rows)[:, None] & (columns < width)[None, :]
        total += tl.load(x + places, mask=inside, other=0.0)
    tl.store(out + columns, tl.sum(total, axis=0), mask=columns < width)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty(width, device=x.device)
        kernel[(triton.cdiv(width, 32),)](x, out, rows, width, 32, 32)
        return out
