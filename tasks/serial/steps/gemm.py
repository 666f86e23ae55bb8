#: base = thread-per-element | | The tiles of the product are independent. | Tiles of 32 x 32, products by multiplication and sum
#: dot = tensor-cores-dot | | Multiplication and sum leave the tensor cores idle. | tl.dot, in three products of lower precision that keep the exactness
#: large = register-blocking | dot | Each factor is read again for every small tile. | Tiles of 128 x 64
#: order = grouped-block-order | dot | Programs that run together share few rows and columns. | Groups of eight rows of tiles
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
#% if order
    program = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    across, down = tl.num_programs(0), tl.num_programs(1)
    group = program // (8 * across)
    high = tl.minimum(down - group * 8, 8)
    tile_down = group * 8 + program % (8 * across) % high
    tile_across = program % (8 * across) // high
#% else
    tile_across, tile_down = tl.program_id(0), tl.program_id(1)
#% endif
    rows = tile_down * HIGH + tl.arange(0, HIGH)
    columns = tile_across * WIDE + tl.arange(0, WIDE)
    total = tl.zeros((HIGH, WIDE), dtype=tl.float32)
#% if dot
    for start in range(0, K, 32):
        inner = start + tl.arange(0, 32)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="tf32x3")
#% else
    for k in range(0, K):
        left = tl.load(a + rows * K + k, mask=rows < M, other=0.0)
        right = tl.load(b + k * N + columns, mask=columns < N, other=0.0)
        total += left[:, None] * right[None, :]
#% endif
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device, dtype=a.dtype)
        high, wide = ${'128, 64' if large else '32, 32'}
        gemm[(triton.cdiv(n, wide), triton.cdiv(m, high))](a, b, c, m, n, k, high, wide, num_warps=4)
        return c
