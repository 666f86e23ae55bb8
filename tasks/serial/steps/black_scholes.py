#: base = thread-per-element | | The options are independent: a program takes a block of them. | 128 options a program, one warp
#: wide = thread-coarsening | | So small a block keeps few bytes in flight, and each program begins anew. | 1024 options a program, four warps
#: product = strength-reduction | | Divisions take a dozen instructions each. | Products with reciprocals, and one logarithm less
#: hints = eviction-hints | | Nothing is read twice. | evict_first
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def price(spot, strike, years, call, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
#% if hints
    s = tl.load(spot + at, mask=there, other=1.0, eviction_policy="evict_first")
    k = tl.load(strike + at, mask=there, other=1.0, eviction_policy="evict_first")
    t = tl.load(years + at, mask=there, other=1.0, eviction_policy="evict_first")
#% else
    s = tl.load(spot + at, mask=there, other=1.0)
    k = tl.load(strike + at, mask=there, other=1.0)
    t = tl.load(years + at, mask=there, other=1.0)
#% endif
    root = tl.sqrt(t)
#% if product
    d1 = (tl.log(s / k) / root + 0.065 * root) * 3.3333333
#% else
    d1 = (tl.log(s / k) + 0.065 * t) / (0.3 * root)
#% endif
    d2 = d1 - 0.3 * root
    first = 0.5 * libdevice.erfc(d1 * -0.70710678)  # 1 + erf(d) has no digits left where d is far below zero
    second = 0.5 * libdevice.erfc(d2 * -0.70710678)
    tl.store(call + at, s * first - k * tl.exp(-0.02 * t) * second, mask=there)


class ModelNew(torch.nn.Module):
    def forward(self, spot, strike, years):
        call = torch.empty_like(spot)
        n = spot.numel()
#% if wide
        price[(triton.cdiv(n, 1024),)](spot, strike, years, call, n, BLOCK=1024, num_warps=4)
#% else
        price[(triton.cdiv(n, 128),)](spot, strike, years, call, n, BLOCK=128, num_warps=1)
#% endif
        return call
