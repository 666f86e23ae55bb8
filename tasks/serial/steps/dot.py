#: base = thread-per-element | | Products are independent; only their sum meets. | A program adds up a block and adds its sum atomically
#: wide = thread-coarsening | | Sixteen thousand additions to one address wait for each other. | A program goes through eight blocks first
#: warps = warps-and-stages | | One warp a program keeps few bytes in flight. | Eight warps
#: hints = eviction-hints | | Nothing is read twice. | evict_first
import torch
import triton
import triton.language as tl


@triton.jit
def dot(x, y, sums, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    first = tl.program_id(0) * BLOCK * PARTS
    for part in range(PARTS):
        at = first + part * BLOCK + tl.arange(0, BLOCK)
#% if hints
        left = tl.load(x + at, mask=at < n, other=0.0, eviction_policy="evict_first")
        right = tl.load(y + at, mask=at < n, other=0.0, eviction_policy="evict_first")
#% else
        left = tl.load(x + at, mask=at < n, other=0.0)
        right = tl.load(y + at, mask=at < n, other=0.0)
#% endif
        total += left * right
    # Terms cancel: in single precision, so many additions to one number would lose five digits of it.
    tl.atomic_add(sums, tl.sum(total, axis=0).to(tl.float64))


@triton.jit
def rounded(sums, out):
    tl.store(out, tl.load(sums).to(tl.float32))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        sums = torch.zeros(1, device=x.device, dtype=torch.float64)
        out = torch.empty(1, device=x.device, dtype=x.dtype)
        n = x.numel()
        parts = ${8 if wide else 1}
        dot[(triton.cdiv(n, 1024 * parts),)](x, y, sums, n, BLOCK=1024, PARTS=parts, num_warps=${8 if warps else 1})
        rounded[(1,)](sums, out, num_warps=1)
        return out
