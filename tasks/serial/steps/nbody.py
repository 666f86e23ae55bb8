#: base = thread-per-row | | The bodies are independent. | A program for sixteen bodies, sixteen others at a time
#: wide = register-blocking | | Tiles of 16 x 16 leave most of a warp's registers unused. | 128 others at a time
#: fast = fast-intrinsics | | A division and a square root take the long way. | rsqrt, and its cube
import torch
import triton
import triton.language as tl


@triton.jit
def pulls(position, mass, out, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    x = tl.load(position + 3 * i, mask=i < N, other=0.0)[:, None]
    y = tl.load(position + 3 * i + 1, mask=i < N, other=0.0)[:, None]
    z = tl.load(position + 3 * i + 2, mask=i < N, other=0.0)[:, None]
    ax = tl.zeros((16,), dtype=tl.float32)
    ay = tl.zeros((16,), dtype=tl.float32)
    az = tl.zeros((16,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        dx = tl.load(position + 3 * j, mask=j < N, other=0.0)[None, :] - x
        dy = tl.load(position + 3 * j + 1, mask=j < N, other=0.0)[None, :] - y
        dz = tl.load(position + 3 * j + 2, mask=j < N, other=0.0)[None, :] - z
        weight = tl.load(mass + j, mask=j < N, other=0.0)[None, :]
        square = dx * dx + dy * dy + dz * dz + 0.01
#% if fast
        root = tl.rsqrt(square)
        pull = weight * root * root * root
#% else
        pull = weight / (square * tl.sqrt(square))
#% endif
        ax += tl.sum(dx * pull, axis=1)
        ay += tl.sum(dy * pull, axis=1)
        az += tl.sum(dz * pull, axis=1)
    tl.store(out + 3 * i, ax, mask=i < N)
    tl.store(out + 3 * i + 1, ay, mask=i < N)
    tl.store(out + 3 * i + 2, az, mask=i < N)


class ModelNew(torch.nn.Module):
    def forward(self, position, mass):
        out = torch.empty_like(position)
        n = mass.numel()
        pulls[(triton.cdiv(n, 16),)](position, mass, out, n, ${128 if wide else 16}, num_warps=4)
        return out
