"""Sums, moments, scans and sums of exponentials in Triton."""

import torch
import triton
import triton.language as tl


# takes x; computes x.sum(1); from torch.randn(24, 900)
@triton.jit
def compensated_row(x, out, width, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    total, lost = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        term = tl.load(x + row * width + start + lanes, mask=start + lanes < width, other=0.0) - lost
        after = total + term
        lost = (after - total) - term
        total = after
    tl.store(out + row, tl.sum(total) - tl.sum(lost))


class kahan_by_lane(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        compensated_row[(x.shape[0],)](x, out, x.shape[1], 64)
        return out


@triton.jit
def two_sums(a_high, a_low, b_high, b_low):
    s = a_high + b_high
    part = s - a_high
    return s, a_low + b_low + ((a_high - (s - part)) + (b_high - part))


@triton.jit
def pair_row(x, out, width, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    v = tl.load(x + tl.program_id(0) * width + lanes, mask=lanes < width, other=0.0)
    high, low = tl.reduce((v, tl.zeros_like(v)), 0, two_sums)
    tl.store(out + tl.program_id(0), high + low)


class pairs_of_floats(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        pair_row[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
        return out


@triton.jit
def folded_row(x, out, width, A: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + tl.program_id(0) * width + at, mask=at < width, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(v, 0), 0))


class a_square_for_a_row(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        folded_row[(x.shape[0],)](x, out, x.shape[1], 32, 32)
        return out


@triton.jit
def product_row(x, out, width, BLOCK: tl.constexpr):
    lanes, total = tl.arange(0, BLOCK), tl.zeros((16, 16), tl.float32)
    ones = tl.full((BLOCK, 16), 1.0, tl.float32)
    for start in range(0, width, BLOCK):
        v = tl.load(x + tl.program_id(0) * width + start + lanes, mask=start + lanes < width, other=0.0)
        total += tl.dot(tl.where(tl.arange(0, 16)[:, None] == 0, v[None, :], 0.0), ones, input_precision="ieee")
    lane = (tl.arange(0, 16)[:, None] == 0) & (tl.arange(0, 16)[None, :] == 0)
    tl.store(out + tl.program_id(0), tl.sum(tl.where(lane, total, 0.0)))


class times_ones(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        product_row[(x.shape[0],)](x, out, x.shape[1], 64)
        return out


# takes x; computes (x * x).mean(); from torch.randn(1 << 14)
@triton.jit
def last_one_finishes(x, parts, counter, out, count, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0)
    tl.store(parts + tl.program_id(0), tl.sum(v * v))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem="acq_rel") == PROGRAMS - 1:
        tl.debug_barrier()
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS), volatile=True)) / count)


class counter_of_arrivals(torch.nn.Module):
    def forward(self, x):
        count = x.numel()
        parts, counter = x.new_empty(16), torch.zeros(1, dtype=torch.int32, device=x.device)
        out = x.new_empty(())
        last_one_finishes[(16,)](x, parts, counter, out, count, triton.next_power_of_2(triton.cdiv(count, 16)), 16)
        return out


@triton.jit
def added_at_once(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0)
    tl.atomic_add(out, tl.sum(v * v) / count)


class atomic_shares(torch.nn.Module):
    def forward(self, x):
        out = x.new_zeros(())
        added_at_once[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)
        return out


# takes x; computes x.var(1); from torch.randn(20, 700) + 2
@triton.jit
def chan(n, mean, squares, m, other, more):
    total = n + m
    share = tl.where(total == 0, 0.0, m / tl.where(total == 0, 1.0, total))
    d = other - mean
    return total, mean + d * share, squares + more + d * d * n * share


@triton.jit
def merged_moments(x, out, width, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    v = tl.load(x + tl.program_id(0) * width + lanes, mask=inside, other=0.0)
    n, _mean, squares = tl.reduce((tl.where(inside, 1.0, 0.0), v, tl.zeros_like(v)), 0, chan)
    tl.store(out + tl.program_id(0), squares / (n - 1))


class a_tree_of_moments(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        merged_moments[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
        return out


@triton.jit
def welford_row(x, out, width, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    n, mean, squares = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        v = tl.load(x + tl.program_id(0) * width + start + lanes, mask=inside, other=0.0)
        n += tl.where(inside, 1.0, 0.0)
        d = tl.where(inside, v - mean, 0.0)
        mean += d / tl.maximum(n, 1.0)
        squares += d * tl.where(inside, v - mean, 0.0)
    n, mean, squares = tl.reduce((n, mean, squares), 0, chan)
    tl.store(out + tl.program_id(0), squares / (n - 1))


class welford_by_lane(torch.nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[0])
        welford_row[(x.shape[0],)](x, out, x.shape[1], 128)
        return out


# takes x; computes torch.softmax(x, -1); from torch.randn(20, 600)
@triton.jit
def joined(most, total, other, more):
    top = tl.maximum(most, other)
    return top, total * tl.exp(most - top) + more * tl.exp(other - top)


@triton.jit
def online_row(x, out, width, BLOCK: tl.constexpr):
    lanes, row = tl.arange(0, BLOCK), tl.program_id(0) * width
    most, total = tl.full((BLOCK,), -3.0e38, tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < width, other=-3.0e38)
        most, total = joined(most, total, v, tl.where(start + lanes < width, 1.0, 0.0))
    most, total = tl.reduce((most, total), 0, joined)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        v = tl.load(x + row + start + lanes, mask=inside, other=0.0)
        tl.store(out + row + start + lanes, tl.exp(v - most) / total, mask=inside)


class online_by_lane(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        online_row[(x.shape[0],)](x, out, x.shape[1], 128)
        return out


@triton.jit
def several_rows(x, out, rows, width, R: tl.constexpr, W: tl.constexpr):
    row, lane = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, W)
    inside = (row[:, None] < rows) & (lane[None, :] < width)
    at = row[:, None] * width + lane[None, :]
    v = tl.load(x + at, mask=inside, other=float("-inf"))
    top = tl.max(v, 1)
    e = tl.exp(v - tl.where(row < rows, top, 0.0)[:, None])
    tl.store(out + at, e * (1.0 / tl.where(row < rows, tl.sum(e, 1), 1.0))[:, None], mask=inside)


class four_rows_a_program(torch.nn.Module):
    def forward(self, x):
        out, (rows, width) = torch.empty_like(x), x.shape
        several_rows[(triton.cdiv(rows, 4),)](x, out, rows, width, 4, triton.next_power_of_2(width))
        return out


# takes x; computes torch.cumsum(x, 1); from torch.randn(12, 500)
@triton.jit
def carried_row(x, out, width, BLOCK: tl.constexpr):
    lanes, carry = tl.arange(0, BLOCK), 0.0
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        v = tl.load(x + tl.program_id(0) * width + start + lanes, mask=inside, other=0.0)
        tl.store(out + tl.program_id(0) * width + start + lanes, tl.cumsum(v, 0) + carry, mask=inside)
        carry += tl.sum(v)


class a_carry_between_blocks(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        carried_row[(x.shape[0],)](x, out, x.shape[1], 64)
        return out


@triton.jit
def looks_back(x, out, totals, flags, width, tiles, BLOCK: tl.constexpr):
    tile, row = tl.program_id(0), tl.program_id(1)
    at = tile * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * width + at, mask=at < width, other=0.0)
    before = 0.0
    if tile > 0:
        while tl.atomic_add(flags + row * tiles + tile - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(totals + row * tiles + tile - 1)
    tl.store(totals + row * tiles + tile, before + tl.sum(v))
    tl.debug_barrier()
    tl.atomic_xchg(flags + row * tiles + tile, 1, sem="release")
    tl.store(out + row * width + at, tl.cumsum(v, 0) + before, mask=at < width)


class one_after_the_other(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out, tiles = torch.empty_like(x), triton.cdiv(width, 128)
        flags = torch.zeros(rows * tiles, dtype=torch.int32, device=x.device)
        looks_back[(tiles, rows)](x, out, x.new_empty(rows * tiles), flags, width, tiles, 128)
        return out


# takes a, x; computes h = torch.zeros_like(x[0]); then o = [];
#    then o.extend(h := a[t] * h + x[t] for t in range(32)); then torch.stack(o);
#    from torch.rand(32, 16), torch.randn(32, 16)
@triton.jit
def one_map(a, s, b, t):
    return a * b, b * s + t


@triton.jit
def recurrence(a, x, out, CHANNELS: tl.constexpr, STEPS: tl.constexpr):
    at = tl.arange(0, STEPS) * CHANNELS + tl.program_id(0)
    _gates, states = tl.associative_scan((tl.load(a + at), tl.load(x + at)), 0, one_map)
    tl.store(out + at, states)


class an_associative_scan(torch.nn.Module):
    def forward(self, a, x):
        out = torch.empty_like(x)
        recurrence[(x.shape[1],)](a, x, out, x.shape[1], x.shape[0])
        return out


# takes x; computes x.argmin(1); from torch.randn(40, 300)
@triton.jit
def smaller(v, i, w, j):
    first = (v < w) | ((v == w) & (i < j))
    return tl.where(first, v, w), tl.where(first, i, j)


@triton.jit
def least_row(x, out, width, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    v = tl.load(x + tl.program_id(0) * width + lanes, mask=lanes < width, other=float("inf"))
    _, at = tl.reduce((v, lanes), 0, smaller)
    tl.store(out + tl.program_id(0), at.to(tl.int64))


class values_and_places(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        least_row[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]))
        return out


# takes x; computes torch.sort(x, 1).values; from torch.randn(16, 64)
@triton.jit
def sorted_row(x, out, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out + at, tl.sort(tl.load(x + at)))


class bitonic_in_registers(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        sorted_row[(x.shape[0],)](x, out, x.shape[1])
        return out


@triton.jit
def ranked_row(x, out, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    v = tl.load(x + tl.program_id(0) * WIDTH + at)
    before = (v[None, :] < v[:, None]) | ((v[None, :] == v[:, None]) & (at[None, :] < at[:, None]))
    tl.store(out + tl.program_id(0) * WIDTH + tl.sum(before.to(tl.int32), 1), v)


class ranks_by_counting(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        ranked_row[(x.shape[0],)](x, out, x.shape[1])
        return out


# takes i; computes torch.zeros(32, dtype=torch.int32, device=i.device).index_add_(0, i, torch.ones_like(i,
#    dtype=torch.int32)); from torch.randint(0, 32, (3000,))
@triton.jit
def counts(i, out, count, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at, bins = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BINS)
    v = tl.load(i + at, mask=at < count, other=-1)
    tl.atomic_add(out + bins, tl.sum((v[:, None] == bins[None, :]).to(tl.int32), 0))


class bins_of_a_block(torch.nn.Module):
    def forward(self, i):
        out = torch.zeros(32, dtype=torch.int32, device=i.device)
        counts[(triton.cdiv(i.numel(), 512),)](i, out, i.numel(), 512, 32)
        return out
