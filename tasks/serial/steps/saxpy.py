#: base = thread-per-element | | The iterations are independent: a program takes a block of them. | 128 elements a program, one warp
#: wide = thread-coarsening | | So small a block keeps few bytes in flight, and each program begins anew. | 2048 elements a program, four warps
#: hints = eviction-hints | | Nothing is read twice, so that the caches only evict what others need. | evict_first
import torch
import triton
import triton.language as tl


@triton.jit
def saxpy(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
#% if hints
    left = tl.load(x + at, mask=there, eviction_policy="evict_first")
    right = tl.load(y + at, mask=there, eviction_policy="evict_first")
#% else
    left = tl.load(x + at, mask=there)
    right = tl.load(y + at, mask=there)
#% endif
    tl.store(out + at, 2.5 * left + right, mask=there)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        n = x.numel()
#% if wide
        saxpy[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=4)
#% else
        saxpy[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK=128, num_warps=1)
#% endif
        return out
