"""Products, attention, normalisations, elementwise functions and movements in Triton."""

import torch
import triton
import triton.language as tl


# takes a, b; computes a @ b; from torch.randn(48, 64), torch.randn(64, 80)
@triton.jit
def share_of_k(a, b, out, M, N, K, S: tl.constexpr, B: tl.constexpr):
    i, j, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(tl.program_id(2) * B, K, S * B):
        x = tl.load(
            a + i[:, None] * K + start + k[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0.0
        )
        y = tl.load(
            b + (start + k[:, None]) * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0
        )
        acc += tl.dot(x, y, input_precision="ieee")
    tl.atomic_add(out + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


class shares_added_up(torch.nn.Module):
    def forward(self, a, b):
        out = a.new_zeros(a.shape[0], b.shape[1])
        grid = (triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16), 2)
        share_of_k[grid](a, b, out, a.shape[0], b.shape[1], a.shape[1], 2, 16)
        return out


@triton.jit
def grouped(a, b, out, M, N, K, tiles, G: tl.constexpr, B: tl.constexpr):
    rows, columns = tl.cdiv(M, B), tl.cdiv(N, B)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        group = tile // (G * columns)
        high = min(rows - group * G, G)
        row, column = group * G + tile % (G * columns) % high, tile % (G * columns) // high
        i, j, k = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for start in range(0, K, B):
            x = tl.load(
                a + i[:, None] * K + start + k[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0.0
            )
            y = tl.load(
                b + (start + k[:, None]) * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0
            )
            acc = tl.dot(x, y, acc, input_precision="ieee")
        tl.store(out + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


class persistent_programs(torch.nn.Module):
    def forward(self, a, b):
        out, tiles = a.new_empty(a.shape[0], b.shape[1]), triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16)
        grouped[(4,)](a, b, out, a.shape[0], b.shape[1], a.shape[1], tiles, 2, 16)
        return out


# takes a, b; computes a @ b; from torch.randn(8, 12), torch.randn(12, 40)
@triton.jit
def without_dot(a, b, out, M, N, K, B: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(K):
        acc += tl.load(a + i * K + k) * tl.load(b + k * N + j, mask=j < N, other=0.0)
    tl.store(out + i * N + j, acc, mask=j < N)


class a_row_at_a_time(torch.nn.Module):
    def forward(self, a, b):
        out = a.new_empty(a.shape[0], b.shape[1])
        without_dot[(a.shape[0], triton.cdiv(b.shape[1], 64))](a, b, out, a.shape[0], b.shape[1], a.shape[1], 64)
        return out


# takes a, b; computes (a.float() @ b.float()) * 0.05; from *(torch.randint(-128, 128, s).to(torch.int8) for s in
#    ((32, 64), (64, 48)))
@triton.jit
def whole(a, b, out, N, K, B: tl.constexpr):
    i, j, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, 32)
    acc = tl.zeros((B, B), tl.int32)
    for start in range(0, K, 32):
        acc += tl.dot(
            tl.load(a + i[:, None] * K + start + k[None, :]),
            tl.load(b + (start + k[:, None]) * N + j[None, :]),
            out_dtype=tl.int32,
        )
    tl.store(out + i[:, None] * N + j[None, :], acc.to(tl.float32) * 0.05)


class whole_accumulators(torch.nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        whole[(a.shape[0] // 16, b.shape[1] // 16)](a, b, out, b.shape[1], a.shape[1], 16)
        return out


# takes q, k, v; computes torch.softmax(q @ k.transpose(-1, -2) * 0.25, -1) @ v;
#    from *(torch.randn(2, 48, 16) for _ in range(3))
@triton.jit
def flash(q, k, v, out, n, D: tl.constexpr, B: tl.constexpr):
    i, j, d, head = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B), tl.arange(0, D), tl.program_id(1) * n * D
    x = tl.load(q + head + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    most, total, acc = tl.full((B,), -1.0e30, tl.float32), tl.zeros((B,), tl.float32), tl.zeros((B, D), tl.float32)
    for start in range(0, n, B):
        inside = start + j < n
        keys = tl.load(k + head + (start + j[None, :]) * D + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(x, keys, input_precision="ieee") * 0.25, -1.0e30)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.where(inside[None, :], tl.exp(s - top[:, None]), 0.0)
        old = tl.exp(most - top)
        total = total * old + tl.sum(p, 1)
        values = tl.load(v + head + (start + j[:, None]) * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = acc * old[:, None] + tl.dot(p, values, input_precision="ieee")
        most = top
    tl.store(out + head + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < n)


class one_pass_over_keys(torch.nn.Module):
    def forward(self, q, k, v):
        out = torch.empty_like(q)
        flash[(triton.cdiv(q.shape[1], 16), q.shape[0])](q, k, v, out, q.shape[1], 16, 16)
        return out


# takes x; computes nn.functional.layer_norm(x, (200,), self.weight, self.bias); from torch.randn(24, 200)
#    ; with self.weight = nn.Parameter(torch.randn(200)); then self.bias = nn.Parameter(torch.randn(200))
@triton.jit
def shifted_norm(x, w, b, out, width, WIDTH: tl.constexpr):
    lanes, row = tl.arange(0, WIDTH), tl.program_id(0) * width
    inside = lanes < width
    v = tl.load(x + row + lanes, mask=inside, other=0.0)
    mean = tl.sum(v) / width
    v = tl.where(inside, v - mean, 0.0)
    rest = tl.sum(v) / width
    by = tl.math.rsqrt(tl.sum(v * v) / width - rest * rest + 1e-5)
    w, b = tl.load(w + lanes, mask=inside), tl.load(b + lanes, mask=inside)
    tl.store(out + row + lanes, (v - rest) * by * w + b, mask=inside)


class corrected_moments(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.ones(200)), torch.nn.Parameter(torch.ones(200))

    def forward(self, x):
        out = torch.empty_like(x)
        shifted_norm[(x.shape[0],)](x, self.weight, self.bias, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
        return out


# takes x; computes torch.erf(x) + torch.tanh(x); from torch.randn(40, 50)
@triton.jit
def by_exponentials(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0).to(tl.float64)
    a = tl.minimum(tl.abs(v), 6.0)
    term, series = a, a
    for n in tl.static_range(1, 130):
        term *= 2 * a * a / (2 * n + 1)
        series += term
    erf = tl.where(a < 5.5, series * tl.exp(-a * a) * 1.1283791670955126, 1.0)
    e = tl.exp(-2.0 * tl.minimum(tl.abs(v), 30.0))
    tanh = tl.where(tl.abs(v) < 0.01, a - a * a * a / 3 + 2 * a * a * a * a * a / 15, (1 - e) / (1 + e))
    tl.store(out + at, tl.where(v < 0, -(erf + tanh), erf + tanh).to(tl.float32), mask=at < count)


class series_in_doubles(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        by_exponentials[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), 256)
        return out


# takes x; computes x.abs() * torch.rsqrt(x * x + 1); from torch.randn(33, 70)
@triton.jit
def magic(x, out, count, BLOCK: tl.constexpr):
    at = count - 1 - (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    v = tl.load(x + at, mask=at >= 0, other=0.0)
    size = (v.to(tl.int32, bitcast=True) & 0x7FFFFFFF).to(tl.float32, bitcast=True)
    s = v * v + 1.0
    y = (0x5F375A86 - (s.to(tl.int32, bitcast=True) >> 1)).to(tl.float32, bitcast=True)
    for _ in tl.static_range(4):
        y = y * (1.5 - 0.5 * s * y * y)
    tl.store(out + at, size * y, mask=at >= 0)


class newton_from_behind(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        magic[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), 128)
        return out


# takes x; computes x.transpose(0, 1).contiguous() + 1; from torch.randn(50, 70)
@triton.jit
def turned(x, out, M, N, B: tl.constexpr):
    corner = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (1, 0))
    v = tl.load(corner, boundary_check=(0, 1), padding_option="zero")
    to = tl.make_block_ptr(out, (N, M), (M, 1), (tl.program_id(1) * B, tl.program_id(0) * B), (B, B), (1, 0))
    tl.store(to, tl.trans(v) + 1.0, boundary_check=(0, 1))


class block_pointers(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[1], x.shape[0])
        turned[(triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16))](x, out, x.shape[0], x.shape[1], 16)
        return out


# takes x, s; computes x.new_zeros(20, 16).index_add_(0, s, x);
#    from torch.randn(200, 16), torch.randint(0, 20, (200,)).sort().values
@triton.jit
def edges_added(x, s, out, D: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, D)
    tl.atomic_add(out + tl.load(s + row) * D + d, tl.load(x + row * D + d))


class atomic_rows(torch.nn.Module):
    def forward(self, x, s):
        out = x.new_zeros(20, x.shape[1])
        edges_added[(x.shape[0],)](x, s, out, 16)
        return out


@triton.jit
def segment(x, s, out, count, D: tl.constexpr, B: tl.constexpr):
    to, d, acc = tl.program_id(0), tl.arange(0, D), tl.zeros((D,), tl.float32)
    for start in range(0, count, B):
        at = start + tl.arange(0, B)
        mine = tl.load(s + at, mask=at < count, other=-1) == to
        v = tl.load(x + at[:, None] * D + d[None, :], mask=mine[:, None], other=0.0)
        acc += tl.sum(v, 0)
    tl.store(out + to * D + d, acc)


class a_program_a_segment(torch.nn.Module):
    def forward(self, x, s):
        out = x.new_empty(20, x.shape[1])
        segment[(20,)](x, s, out, x.shape[0], 16, 32)
        return out


# takes x; computes nn.functional.conv1d(x, self.weight, padding=2); from torch.randn(2, 8, 90);
#    with self.weight = nn.Parameter(torch.randn(6, 8, 5) / 6)
@triton.jit
def patches(x, w, out, C: tl.constexpr, L, T: tl.constexpr, outs, B: tl.constexpr):
    o, i, k = tl.arange(0, 16), tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    c, t = k // T, k % T
    at = i[None, :] + t[:, None] - 2
    taps = tl.load(w + o[:, None] * C * T + k[None, :], mask=(o[:, None] < outs) & (k[None, :] < C * T), other=0.0)
    inside = (at >= 0) & (at < L) & (k[:, None] < C * T)
    v = tl.load(x + (tl.program_id(1) * C + c[:, None]) * L + at, mask=inside, other=0.0)
    to = out + (tl.program_id(1) * outs + o[:, None]) * L + i[None, :]
    tl.store(to, tl.dot(taps, v, input_precision="ieee"), mask=(o[:, None] < outs) & (i[None, :] < L))


class patches_in_a_product(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(6, 8, 5))

    def forward(self, x):
        out = x.new_empty(x.shape[0], 6, x.shape[2])
        patches[(triton.cdiv(x.shape[2], 32), x.shape[0])](x, self.weight, out, 8, x.shape[2], 5, 6, 32)
        return out


# takes x; computes (x / x.abs().amax(-1, keepdim=True).clamp(min=1e-6) * 127).round().clamp(-127,
#    127).to(torch.int8); from torch.randn(30, 100)
@triton.jit
def to_bytes(x, out, width, WIDTH: tl.constexpr):
    lanes, row = tl.arange(0, WIDTH), tl.program_id(0) * width
    v = tl.load(x + row + lanes, mask=lanes < width, other=0.0)
    by = tl.maximum(tl.max(tl.abs(v)), 1e-6)
    scaled = v / by * 127.0
    rounded = (scaled + 12582912.0) - 12582912.0
    tl.store(out + row + lanes, tl.minimum(tl.maximum(rounded, -127.0), 127.0).to(tl.int8), mask=lanes < width)


class a_large_number_added(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        to_bytes[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
        return out
