"""Programs of every family on small shapes, judged in Triton's interpreter: prints a JSON line for each case.

Run as a process of its own, since Triton reads TRITON_INTERPRET when it is imported.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import torch
from author_cases import called, case, error, model

from kernelwright.evaluate.triton.binding import held
from kernelwright.propose.author.families.product import packing
from kernelwright.propose.author.families.product import plan as product
from kernelwright.propose.author.lower import partition
from kernelwright.propose.author.rules import moments, pack_rows
from kernelwright.propose.author.rules.rule import Rule
from kernelwright.propose.author.search.designs import triton_design
from kernelwright.records.numerics import Numerics

X = "torch.randn(3, 8, 10, 12)"
CASES = {
    "transposed": ("x.permute(0, 2, 3, 1).contiguous(), x.transpose(1, 3) * 2", "x", X),
    "own transpose": ("x + x.t(), x.softmax(0)", "x", "torch.randn(40, 40)"),
    "reduced": ("x.sum(1), x.amax((0, 2)), x.mean((2, 3)), x.prod(3), x.argmax(1), x.min(2)[1]", "x", X),
    "not numbers": (
        "x.where(x < 2, x / 0 - x / 0).amax(1).isnan() * 1.0, x.where(x < 2, x / 0 - x / 0).argmin(3),"
        " F.max_pool2d(x.where(x < 2, x / 0 - x / 0), 3, 2, 1).isnan() * 1.0,"
        " x.where(x < 2, x / 0 - x / 0).max().isnan() * 1.0, x.where(x < 2, x / 0 - x / 0).min(2)[0].isnan() * 1.0,"
        " x.where(x < 2, x / 0 - x / 0).cummax(3)[0].isnan() * 1.0, x.where(x < 2, x / 0 - x / 0).cummin(1)[0].isnan() * 1.0",
        "x", X,
    ),
    "norms": (
        "F.group_norm(x, 4, w, w), F.instance_norm(x), F.batch_norm(x, None, None, w, w, True),"
        " F.batch_norm(x, w, w * w, training=False), x / x.norm(dim=1, keepdim=True)",
        "x, w", f"{X}, torch.rand(8) + 0.5",
    ),
    "dropped": (
        "(lambda y: ((y * (y - x / 0.7)).abs().amax((2, 3)), (((y == 0) * 1.0).mean((1, 2, 3)) - 0.3).abs() < 0.09))"
        "(F.dropout(x, 0.3, True)), ((F.dropout(x, 0.5, True) - F.dropout(x, 0.5, True)).abs().amax((1, 2, 3)) > 0) * 1.0,"
        " (F.dropout2d(x, 0.5, True) == 0).float().std((2, 3)), F.dropout(x, 1.0, True)",
        "x", X,
    ),
    "lonely rows": ("F.layer_norm(x, (90000,)), x / x.norm()", "x", "torch.randn(2, 90000)"),
    "long rows over several axes": (
        "F.batch_norm(x, None, None, w, w, True), (x * x).sum().sqrt()",
        "x, w", "torch.randn(32, 4, 32, 128) + 3, torch.rand(4) + 0.5",
    ),
    "long rows of odd lengths": (
        "F.batch_norm(x, None, None, w, w, True), F.batch_norm(F.silu(F.conv2d(x, k)), None, None, training=True),"
        " torch.logsumexp(F.group_norm(x, 2), 1)",
        "x, w, k", "torch.randn(8, 4, 130, 127) + 3, torch.rand(4) + 0.5, torch.randn(8, 4, 3, 3)",
    ),
    "a factor for each channel of a long row": (
        "F.silu(F.group_norm(x, 2, w, b)) + y", "x, w, b, y",
        "torch.randn(2, 4, 136, 128) + 3, torch.rand(4) + 0.5, torch.randn(4), torch.randn(2, 4, 136, 128)",
    ),
    "a factor for whole blocks of a long row": (
        "F.group_norm(x, 2) * (1 + s[:, :, None, None]) + t", "x, s, t",
        "torch.randn(3, 4, 128, 192) + 3, torch.randn(3, 4), torch.randn(4, 1, 1)",
    ),
    "numbers of a batch beside its rows": (
        "torch.logsumexp(torch.tanh(F.group_norm(x, 2, w, b)) + x, 1), F.batch_norm(x, None, None, w, b, True) * 2,"
        " (x.half() * b.half()[:, None, None]).float().softmax(1)",
        "x, w, b", "torch.randn(3, 8, 30, 34) + 3, torch.rand(8) + 0.5, torch.randn(8)",
    ),
    "a factor for a part of a row alone": (
        "(x / x.abs().sum(1, keepdim=True)).view(2, 5, 7000) * t", "x, t", "torch.randn(2, 35000) + 3, torch.randn(5, 1)",
    ),
    "sides of a product": (
        "(F.conv2d(x, k, b) * 2).amin(1), F.conv2d(x, k, b).tanh().softmax(1).sigmoid(), (y @ w).log_softmax(1) * 2,"
        " F.hardswish(y @ w).sum(1), (y @ w).argmax(1), torch.logsumexp(F.conv2d(x, k[:24]), 1).sum(1),"
        " (w.t() @ y.t()).prod(0)",
        "x, k, b, y, w",
        "torch.randn(3, 8, 7, 20), torch.randn(40, 8, 3, 3), torch.randn(40), torch.randn(200, 30), torch.randn(30, 10)",
    ),
    "tiles of a product": (
        "F.gelu(F.conv2d(x, k, b)).mean((2, 3)), F.conv2d(v, k, padding=1).amax((2, 3)), torch.sigmoid(y @ w + 1).sum(1),"
        " F.adaptive_avg_pool2d(F.relu(F.conv2d(v, k)), 1), (w.t() @ y.t()).tanh().amin(0), (y @ w).softmax(1).sum(0),"
        " F.conv_transpose2d(u, t, stride=2, padding=1).mean((2, 3))",
        "x, v, k, b, y, w, t, u",
        "torch.randn(2, 8, 12, 150), torch.randn(2, 8, 9, 98), torch.randn(40, 8, 3, 3), torch.randn(40),"
        " torch.randn(200, 30), torch.randn(30, 300), torch.randn(8, 40, 4, 4), torch.randn(2, 8, 5, 128)",
    ),
    "moments of tiles": (
        "F.batch_norm(F.conv2d(x, k, b), None, None, g, g, True), F.instance_norm(F.gelu(F.conv2d(x, k, b)) + 3),"
        " (lambda c: F.group_norm(c, 4).tanh() + c)(F.conv2d(v, k, padding=1, stride=(1, 2))),"
        " F.batch_norm(F.conv_transpose2d(u, t, stride=2, padding=1) + 9, None, None, training=True),"
        " F.batch_norm(y @ w + 7, None, None, training=True), F.group_norm(F.conv2d(x[..., :18], k[..., 1:, :]), 5),"
        " F.instance_norm(F.conv2d(x[..., :5, :130], k)), F.instance_norm(F.conv2d(v, k[..., :1, :1]))",
        "x, v, k, b, g, y, w, t, u",
        "torch.randn(2, 8, 9, 150), torch.randn(2, 8, 9, 98), torch.randn(40, 8, 3, 3), torch.randn(40), torch.rand(40) + 0.5,"
        " torch.randn(500, 30), torch.randn(30, 24), torch.randn(8, 40, 4, 4), torch.randn(2, 8, 4, 64)",
    ),
    "laid out for tiles and rounded": (
        "F.batch_norm(F.conv2d(F.relu(F.conv2d(x, k)), w) + 3, None, None, training=True)",
        "x, k, w", "torch.randn(2, 8, 21, 19), torch.randn(32, 8, 3, 3), torch.randn(24, 32, 1, 1)",
    ),
    "products that are repeated": (
        "(x @ w)[:, None].expand(-1, 3, -1), F.conv2d(v, F.conv2d(v, k)[0, :, None, :3, :3].repeat(1, 8, 1, 1))",
        "x, w, v, k", f"torch.randn(64, 24), torch.randn(24, 32), {X}, torch.randn(32, 8, 3, 3)",
    ),
    "side by side": (
        "F.conv2d(F.relu(torch.cat([x, F.conv2d(x, k, padding=1)], 1) * w), m), torch.cat([x @ a, x.tanh() @ a], -1)",
        "x, w, k, m, a",
        f"{X}, torch.randn(40, 1, 1), torch.randn(32, 8, 3, 3), torch.randn(16, 40, 3, 3), torch.randn(12, 12)",
    ),
    "long rows that lie apart": (
        "x.std(0), F.batch_norm(x, None, None, w, w, True), x.sum(0), x.reshape(2, 2048, 16).var(1), x.amax(0)",
        "x, w", "torch.randn(4096, 16) + 3, torch.rand(16) + 0.5",
    ),
    "histograms": (
        "torch.zeros(100, dtype=torch.int32).scatter_add(0, y[0].long(), torch.ones_like(y[0])),"
        " torch.zeros(64).scatter_add(0, (y[0] * 0.5).long(), torch.full((3000,), 0.5)),"
        " torch.zeros(40, 4).scatter_add(0, y[:, :4].clamp(0, 39).long(), torch.ones(2, 4))",
        "y", "torch.randint(0, 100, (2, 3000), dtype=torch.int32)",
    ),
    "added to places": (
        "x.new_zeros(5, 6).index_add(0, i, x), (y * 1).index_add_(0, i, x, alpha=0.5), y.t().index_add(1, i, x.t()),"
        " x.new_zeros(5).index_put_((i,), x[:, 0], accumulate=True), y.index_put((i, j), x[:, 1], accumulate=True),"
        " y.t().contiguous().index_put((j, i - 5), x[0, 0], accumulate=True), y.index_put((i,), x, accumulate=True),"
        " z.index_put((i, j), x[:, :2], accumulate=True), y.scatter_add(0, i[:, None].expand_as(x), x),"
        " torch.ones_like(i).scatter_add(0, i, i)",
        "x, y, i, j, z",
        "torch.randn(40, 6), torch.randn(5, 6), torch.randint(0, 5, (40,)), torch.randint(0, 6, (40,)), torch.randn(5, 6, 2)",
    ),
    "halves added to places": (
        "torch.zeros(200, 6, dtype=x.dtype).scatter_reduce(0, i[:, None].expand_as(x), x, 'sum'),"
        " x.index_add(0, i[:9], x[:9])",
        "x, i", "torch.randn(40, 6).half(), torch.randint(0, 40, (40,))",
    ),
    "reduced by places": (
        ", ".join(
            f"y.scatter_reduce(0, i[:, None].expand_as(x), x, '{how}', include_self={own})"
            for how in ("sum", "mean", "prod", "amax", "amin") for own in (True, False)
        ),
        "x, y, i", "torch.randn(20, 6), torch.randn(9, 6), torch.randint(0, 7, (20,))",
    ),
    "subscripts": (
        "torch.einsum('...qd,...kd->...qk', a, b), torch.einsum('...ij,j', a, b[0, 0, 0]), torch.einsum('bii->b', c),"
        " torch.einsum('...ii->...i', c), torch.einsum('bii,bi->bi', c, c[:, 0]), torch.einsum('i...->...', a)",
        "a, b, c", "torch.randn(2, 3, 5, 4), torch.randn(1, 3, 6, 4), torch.randn(4, 7, 7)",
    ),
    "several indices": (
        "x[i, j], x[:, i, j], x[i, :, j], x[i[:, None], j[None]], x[j - 2], torch.cat([x.new_zeros(0), x.to('cpu')], 1)",
        "x, i, j", "torch.randn(5, 6, 7), torch.tensor([0, 3, 1]), torch.tensor([2, -1, 0])",
    ),
    "divided by quotients": (
        "x / (x.abs().amax(-1, keepdim=True) / 127), (x / (x.abs().amax(-1, keepdim=True) * y)), 1 / (x.exp() / y),"
        " (x * 127 / x.abs().amax(1, keepdim=True)).round().to(torch.int8)",
        "x, y", "torch.randn(9, 40), torch.rand(40) + 1",
    ),
    # The interpreter rounds very small numbers, and up to a power of two, otherwise than a device does; there are none here.
    "eight bits": (
        "(x / (x.abs().amax(-1, keepdim=True) / 448)).to(torch.float8_e4m3fn), (x * 60).to(torch.float8_e4m3fn),"
        " (x * 600).to(torch.float8_e4m3fn), x.to(torch.float8_e4m3fn).float().sum(1)",
        "x", "torch.arange(240.0).reshape(6, 40) % 13 - 6",
    ),
    "minus signs first": (
        "(-x + y) * x, (-x - y) / y.exp(), (-x.flip(0) + y) * y, (-x).sum(1) * 2, F.conv2d(v, w, stride=3, padding=1) + 1",
        "x, y, v, w", "torch.randn(9, 31), torch.randn(9, 31), torch.randn(1, 4, 1, 1), torch.randn(7, 4, 3, 1)",
    ),
    "rows that begin within a dimension": ("x.unflatten(-1, (4, 2)).softmax(-1) * 2", "x", "torch.randn(5, 8)"),
    "long rows of whole numbers": (
        "x.sum(), x.amax(), y.amin(), y.amax(0), (-y).amax(1), y.argmin(0), z.sum(1), y[:, :9].cummax(1)[0]", "x, y, z",
        "torch.randint(-(2**31), -(2**30), (40021,), dtype=torch.int32), torch.randint(2**35, 2**40, (3, 14001)),"
        " torch.randint(2**29, 2**31 - 1, (5, 37), dtype=torch.int32)",
    ),
    "made wider before it is reduced": (
        "F.layer_norm(F.linear(x, w).float() + 1000, (48,)).half(), F.softmax(F.linear(x, w).float() * 20000, 1).half()",
        "x, w", "torch.randn(40, 32).half(), torch.randn(48, 32).half()",
    ),
    "softmax": ("x.softmax(1), x.log_softmax(2), torch.logsumexp(x, (1, 3))", "x", X),
    "pooled": (
        "F.avg_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, 1, 2), F.adaptive_avg_pool2d(x, (5, 4)),"
        " F.max_pool1d(x[0], 2, ceil_mode=True), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, (2, 7))",
        "x", X,
    ),
    "first places in blocks": (
        "x.argmax(1), x.where(x < 2, x / 0 - x / 0).argmin(1), (-1 - x.abs()).div(0).argmax(1), x.int().argmax(1),"
        " x.max(1)[1] + x.max(1)[0], y.argmax(1), y.argmin(1) * 2,"
        " torch.where((x * 2).int() == (x * 2).int().amax(1, keepdim=True), torch.arange(20)[:, None], 0).amin(1)",
        "x, y", "torch.randint(-3, 3, (4, 20, 37)).float(), torch.randn(4, 20, 37)",
    ),
    "windows above one another": (
        "F.max_pool2d(x, 4, 1, 1), F.avg_pool2d(x, 3, 2, 1), F.lp_pool2d(x, 2, 3),"
        " F.conv2d(x, w, v, groups=8) + v[:, None, None], F.max_pool2d(x, 5, 1, 2, 1).argmax(1) * 1.0,"
        " F.max_pool3d(x, (3, 2, 2), 1)",
        "x, w, v", "torch.randn(2, 8, 37, 19), torch.randn(8, 1, 3, 2), torch.randn(8)",
    ),
    "windows along long lines": (
        "F.avg_pool1d(x, 8, 1, 4), F.max_pool1d(x, 4, 1, 2, 3), F.conv1d(x, w, padding=3, groups=3) * 2,"
        " F.avg_pool1d(x[:, :, ::2], 11), F.max_pool1d(x.where(x < 2, x / 0 - x / 0), 3, 1, 1).isnan() * 1.0",
        "x, w", "torch.randn(1, 3, 1023), torch.randn(3, 1, 7)",
    ),
    "windows above one another along long lines": (
        "F.max_pool2d(x, 4, 1, 1), F.conv2d(x, w, padding=1), F.max_pool2d(x, 3, 1, 1).relu() + v",
        "x, w, v", "torch.randn(1, 1, 17, 511), torch.randn(1, 1, 3, 3), torch.randn(511)",
    ),
    "one side after the other": (
        "F.avg_pool2d(x, 5, 3, 2), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, (3, 7)),"
        " F.max_pool2d(x, (3, 4), 2, 1, 2) + 1, F.max_pool2d((x * v[:, None, None]).relu(), 4, 1), F.lp_pool2d(x, 2, (2, 3)),"
        " F.avg_pool3d(x, (2, 3, 4)), F.max_pool3d(x, 3, 2, 1), F.avg_pool2d(x, 4).amax(1),"
        " F.max_pool2d(x.where(x < 1, x / 0 - x / 0), 3, 2, 1).isnan() * 1.0,"
        " F.max_pool2d(x.where(x > 0, x / 0), 3, 2, 1).clamp_min(-1.0)",
        "x, v", "torch.randn(3, 8, 11, 13), torch.randn(8)",
    ),
    "lines of windows": (
        "F.adaptive_avg_pool2d(x, (3, 2)) + 1, F.adaptive_max_pool2d(x, (2, 5)), F.avg_pool2d(x, 9, 4, 3), F.avg_pool2d(x, 9),"
        " F.max_pool2d(x * v, (12, 8), (3, 6), 4), F.adaptive_avg_pool3d(x, (2, 3, 4)), F.max_pool2d(x.relu() * 2, 9, 2, 0),"
        " F.max_pool2d(x.where(x < 2, x / 0 - x / 0), 9, 3, 1).isnan() * 1.0, F.max_pool2d(x.half(), 9, 4, 3)",
        "x, v", "torch.randn(1, 3, 37, 29), torch.randn(29)",
    ),
    "enlarged": (
        "F.interpolate(x, scale_factor=2, mode='bilinear'), F.interpolate(x, scale_factor=2),"
        " F.interpolate(x, size=(7, 15), mode='bilinear', align_corners=True), F.interpolate(x[0], size=5, mode='linear')",
        "x", X,
    ),
    "convolved": (
        "F.conv2d(x, w, padding=1, stride=2), F.conv2d(x, w[:8, :1], groups=8),"
        " F.conv_transpose2d(x, w.transpose(0, 1), stride=2, padding=1), F.conv2d(x, w[:, :4], groups=2, padding='same')",
        "x, w", f"{X}, torch.randn(16, 8, 3, 3)",
    ),
    "convolved backwards": (
        "F.conv_transpose2d(x, w, stride=2, padding=1), F.conv_transpose2d(x, w[..., :3, :3], stride=2, padding=1,"
        " output_padding=1), F.conv_transpose1d(x[..., 0], w[..., 0], stride=2, groups=2)",
        "x, w", "torch.randn(2, 16, 6, 7), torch.randn(16, 8, 4, 4)",
    ),
    "moved": (
        "torch.cat((x[:, :2], -x), 1), torch.cat((x * 2, F.max_pool2d(x, 1)), 1).sum(1),"
        " F.pad(x, (1, 2), value=3.0), F.pad(x, (2, 2, 1, 1), mode='reflect'), x.flip(1),"
        " torch.roll(x, 3, 2), x.repeat(1, 2, 1, 1), F.unfold(x, 3, padding=1), x.tril(1), x[:, 1:7:2],"
        " x.unfold(3, 4, 2).mean(-1), x.unfold(1, 3, 1).amax(3), x.diagonal(1, 2, 3) * 2, x.diagonal(-1, 0, 3) + 1",
        "x", X,
    ),
    "first parts": (
        "x[:, :3].exp(), x[:2] * 2, x[..., :5].sum(0), x[:, :, :4].amax(2)", "x", X,
    ),
    "gathered": (
        "F.embedding(y, w), w[y[0]], w.index_select(0, y[1]), w.gather(1, y[:, :3]), F.embedding(y, w).mean(1)",
        "y, w", "torch.randint(0, 7, (5, 7)), torch.randn(7, 9)",
    ),
    "multiplied": (
        "a @ b, F.gelu(a @ b + a[:, :1]), torch.einsum('ij,jk->ki', a, b), a.tril() @ b, a.softmax(-1) @ b,"
        " torch.diag(a[0]) @ b, torch._weight_norm(b, a[:, :1]) * 2, a @ torch._weight_norm(b, a[:1, :40], 1)",
        "a, b", "torch.randn(48, 48), torch.randn(48, 40)",
    ),
    "in batches": (
        "torch.bmm(a, b), a @ b[0], F.linear(a, b[0, :40])", "a, b", "torch.randn(3, 33, 40), torch.randn(3, 40, 40)",
    ),
    "odd rows folded": (
        "x.sum(1, keepdim=True) + v, (x * y + w).mean(1), (x / 0 - x / 0).where(x > 3, x).amax(1), z.amin(1),"
        " torch.maximum(x, v).sum(1), y.argmax(1), torch.diagonal(u, dim1=0, dim2=2).sum(0)",
        "x, y, w, v, z, u",
        "torch.randn(2, 256, 15), torch.randn(2, 256, 15), torch.randn(2, 1, 1), torch.randn(15),"
        " torch.randn(2, 512, 17).half(), torch.randn(15, 256, 15)",
    ),
    "products by programs that stay": (
        "x @ w, torch.relu(F.linear(x, v) + b) * y, x.mT @ y",
        "x, w, v, b, y",
        "torch.randn(40, 72).half(), torch.randn(72, 56).half(), torch.randn(56, 72).half(), torch.randn(56).half(),"
        " torch.randn(40, 56).half()",
    ),
    "products taken apart": (
        "a @ b, F.relu(b.t() @ b) + 1, F.linear(a, a)", "a, b", "torch.randn(50, 48), torch.randn(48, 64)",
    ),
    "convolutions taken apart": (
        "F.conv2d(x, w, padding=1, stride=2), F.conv1d(x[:, :, 0], w[:, :, 0], dilation=2) + v[:, None],"
        " F.conv_transpose2d(x, w, stride=2, padding=1)",
        "x, w, v", "torch.randn(2, 32, 9, 16), torch.randn(32, 32, 4, 4), torch.randn(32)",
    ),
    "windows in line": (
        "F.conv1d(x, w, v, padding=1), F.conv2d(y, u, padding=1), F.conv1d(x, g, groups=2, padding=1),"
        " F.conv_transpose1d(x[:, :, :63], w.transpose(0, 1), v, stride=2, padding=1, dilation=2)",
        "x, w, v, y, u, g",
        "torch.randn(3, 16, 127), torch.randn(24, 16, 3), torch.randn(24), torch.randn(2, 16, 9, 7),"
        " torch.randn(24, 16, 3, 3), torch.randn(24, 8, 3)",
    ),
    "windows in line taken apart": (
        "F.conv1d(x, w, v, padding=1), F.conv2d(y, u, padding=1), F.conv1d(x, g, groups=2, padding=1),"
        " F.conv_transpose1d(x[:, :, :63], w.transpose(0, 1), v, stride=2, padding=1, dilation=2)",
        "x, w, v, y, u, g",
        "torch.randn(3, 16, 127), torch.randn(24, 16, 3), torch.randn(24), torch.randn(2, 16, 9, 7),"
        " torch.randn(24, 16, 3, 3), torch.randn(24, 8, 3)",
    ),
    "tiles turned and taken apart": (
        "F.conv2d(x, w, v, padding=1), F.relu(a.t() @ a) + 1",
        "x, w, v, a", "torch.randn(2, 16, 9, 7), torch.randn(40, 16, 3, 3), torch.randn(40), torch.randn(48, 70)",
    ),
    "tiles turned and factors rounded": (
        "F.conv2d(x, w, v), b @ a + a[:40]", "x, w, v, a, b",
        "torch.rand(2, 16, 9, 7), torch.rand(40, 16, 1, 1), torch.randn(40), torch.rand(48, 70), torch.rand(40, 48)",
    ),
    "groups taken apart": (
        "F.conv2d(x, w, v, groups=2, padding=1)", "x, w, v",
        "torch.randn(2, 32, 9, 16), torch.randn(24, 16, 3, 3), torch.randn(24)",
    ),
    "odd depths taken apart": (
        "a @ b, F.relu(b.t() @ a.t()) + 1, F.linear(a, a), F.conv2d(x, w, padding=1, stride=2)", "a, b, x, w",
        "torch.randn(50, 47), torch.randn(47, 64), torch.randn(2, 3, 17, 16), torch.randn(24, 3, 5, 5)",
    ),
    "factors taken apart and rounded": (
        "a @ b, F.conv2d(x, w, padding=1, stride=2), F.linear(c, c), F.conv2d(y, v)", "a, b, c, x, w, y, v",
        "torch.randn(50, 48), torch.randn(48, 64), torch.randn(40, 45), torch.randn(2, 32, 9, 16),"
        " torch.randn(24, 32, 3, 3), torch.randn(2, 3, 17, 16), torch.randn(24, 3, 5, 5)",
    ),
    "factors taken apart, scaled and rounded": (
        "a @ b + z @ w[0, 0, 0], F.conv2d(x, u, padding=1, stride=2), F.linear(c, c), F.conv2d(y, v)",
        "a, b, c, x, u, y, v, z, w",
        "torch.randn(50, 48) * 1e-30, torch.randn(48, 64) * 1e35, torch.randn(40, 45) * 3e4, torch.randn(2, 32, 9, 16) * 1e36,"
        " torch.randn(24, 32, 3, 3) * 1e-36, torch.randn(2, 3, 17, 16) * 1e4, torch.randn(24, 3, 5, 5), torch.zeros(50, 32),"
        " torch.randn(1, 1, 1, 32, 64)",
    ),
    "factors taken apart, tried, scaled and rounded": (
        "a @ b, F.conv2d(x, u, padding=1, stride=2), F.linear(c, c), F.conv2d(y, v)", "a, b, c, x, u, y, v",
        "torch.rand(50, 48), torch.randn(48, 64) * 1e5, torch.randn(40, 45) * 1e-9, torch.randn(2, 32, 9, 16),"
        " torch.randn(24, 32, 3, 3) * 1e3, torch.randn(2, 3, 17, 16) * 1e5, torch.randn(24, 3, 5, 5)",
    ),
    "laid out and taken apart and rounded": (
        "F.conv2d(F.relu(F.conv2d(x, w, v, padding=1)), u, padding=1, stride=2),"
        " F.conv2d((torch.cat([x, x * 2], 1) * 0.5 + v.view(-1, 1, 1)).tanh(), u), F.conv2d(F.conv2d(h, g), f)",
        "x, w, v, u, h, g, f",
        "torch.randn(2, 16, 9, 7), torch.randn(32, 16, 3, 3), torch.randn(32), torch.randn(24, 32, 3, 3),"
        " torch.randn(2, 16, 9, 7).half(), torch.randn(32, 16, 3, 3).half(), torch.randn(24, 32, 3, 3).half()",
    ),
    "laid out of one sample and in groups and rounded": (
        "F.conv1d(F.linear(x, w).reshape(1, 32, 64).transpose(1, 2), u), F.conv2d(F.conv2d(h, g), f),"
        " F.conv_transpose2d(F.conv2d(h, g), g, groups=2)",
        "x, w, u, h, g, f",
        "torch.randn(4, 8, 16).half(), torch.randn(64, 16).half(), torch.randn(16, 64, 3).half(),"
        " torch.randn(1, 16, 9, 7), torch.randn(32, 16, 3, 3), torch.randn(24, 32, 3, 3)",
    ),
    "factors rounded": (
        "a @ b, F.conv2d(x, w, padding=1, stride=2)", "a, b, x, w",
        "torch.randn(50, 48), torch.randn(48, 64), torch.randn(2, 32, 9, 16), torch.randn(24, 32, 3, 3)",
    ),
    "attended": (
        "F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, q, v, is_causal=True)",
        "q, k, v", "torch.randn(2, 2, 33, 16), torch.randn(2, 2, 33, 16), torch.randn(2, 2, 33, 16)",
    ),
    "attended over many blocks": (
        "F.scaled_dot_product_attention(q, k, v, is_causal=True), F.scaled_dot_product_attention(q, k, v) * 2,"
        " F.scaled_dot_product_attention(w, w, w, is_causal=True)",
        "q, k, v, w",
        "*[torch.randn(1, 2, 300, 16).half() for _ in range(3)], torch.randn(1, 1, 200, 80).half()",
    ),
    "attended in turns": (
        "F.scaled_dot_product_attention(q, k, k, is_causal=True), F.scaled_dot_product_attention(k, q, q, is_causal=True),"
        " F.scaled_dot_product_attention(q, k, k, m), F.scaled_dot_product_attention(q, k, k, m > 0, scale=-0.3)",
        "q, k, m", "torch.randn(3, 3, 150, 16), torch.randn(3, 3, 50, 16), torch.randn(150, 50)",
    ),
    "scanned": (
        "x.cumsum(1), x.cumprod(2), x.flip(1).cumsum(1).flip(1), x.cummax(1)[0], x.cummin(0)[1], (x * 2).cumsum(0) + 1,"
        " torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), 1).cumsum(1)",
        "x", "torch.rand(5, 40, 6) + 0.5",
    ),
    "losses": (
        "F.cross_entropy(x, y, weight=w, label_smoothing=0.1), F.triplet_margin_loss(x, x * 2, x + 1),"
        " F.cosine_similarity(x, x + 1), F.cross_entropy(x, x.softmax(1))",
        "x, y, w", "torch.randn(6, 9), torch.randint(0, 9, (6,)), torch.rand(9) + 0.5",
    ),
    "integers that wrap around": (
        "x.to(torch.uint8), x.to(torch.int8) * 1.0, x.to(torch.int16).sum(1), x.to(torch.int32).float() * 0.5,"
        " y.to(torch.uint8) * 2.0, x.argmax(1).to(torch.int32), (x > 0).to(torch.uint8), x.type_as(x.int()) * 1.0,"
        " (torch.arange(300).to(torch.uint8) - y[:, :1].tanh()), x[:, ::3].to(torch.int8).t().softmax(1, torch.float32)",
        "x, y", "torch.randint(-(2**40), 2**40, (20, 12)), torch.randint(-999, 999, (20, 12)).float()",
    ),
    "halves by hand": (
        "(x.half() @ w.half()).float(), torch.relu(F.linear(x.half(), w.half()).float()) + 1, x.half().float() * 2,"
        " F.conv2d(v.half(), k.half(), padding=1).float()",
        "x, w, v, k",
        "torch.randn(64, 64), torch.randn(64, 64), torch.randn(2, 16, 9, 9), torch.randn(32, 16, 3, 3)",
    ),
    "arithmetic of narrow integers": (
        "x + x, (x * 7 - 5) * 1.0, -x, x.abs(), (y - 3) * 2, y * y + 1, (z * z).sum(1), (z + 1).float() / 3,"
        " torch.relu(x - 100)",
        "x, y, z",
        "torch.randint(-128, 128, (20, 12), dtype=torch.int8), torch.randint(0, 256, (20, 12), dtype=torch.uint8),"
        " torch.randint(-32768, 32768, (20, 12), dtype=torch.int16)",
    ),
    "truths of numbers": (
        "x.to(torch.bool) * 1.5, torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y),"
        " torch.logical_not(x), (a & b) * 1.5, (a | b).float().mean(1), a ^ b, ~a & (x > 1), a.bitwise_xor(b)",
        "x, y, a, b",
        "torch.randint(0, 4, (20, 12)), torch.randint(0, 4, (20, 12)), torch.rand(20, 12) < 0.5, torch.rand(20, 12) < 0.5",
    ),
    "sorted": (
        "x.sort(1), (x * 2).sort(0, descending=True)[0], x.topk(3, dim=1, largest=False)[0], x.topk(5)[1],"
        " x.argsort(dim=1, stable=True), y.sort(1)[0], y.topk(2)[0] + 1, (x.softmax(0)).topk(20)[0]",
        "x, y", "torch.randn(7, 40), torch.randint(-9, 9, (5, 9), dtype=torch.int32)",
    ),
    "sorted with others": (
        "x.sort(1)[0].where(x.sort(1)[0].isnan().logical_not(), 7.0).tanh(), x.topk(4)[0].isnan() * 1.0,"
        " x.topk(33)[0].isnan() * 1.0",
        "x", "torch.tensor([-0.0, 1.0, -float('nan'), float('inf'), -float('inf'), 0.0] * 7)[None]",
    ),
    "the first of long rows": ("x.topk(20)[0], x.topk(4, largest=False)", "x", "torch.randn(2, 20000)"),
    "sums before products": (
        "F.linear(x, w).sum(1), F.linear(x, w).mean(0) * 2, F.conv2d(x[None, None], v).mean((2, 3))",
        "x, w, v", "torch.randn(24, 40), torch.randn(32, 40), torch.randn(9, 1, 3, 3)",
    ),
    "nothing seen": (
        "F.scaled_dot_product_attention(x, x, x, y), F.scaled_dot_product_attention(x[0], x[0], x[0], is_causal=True),"
        " F.scaled_dot_product_attention(x[0], x[0], x[0], v), F.scaled_dot_product_attention(x[..., :4], x[..., :4], x, y),"
        " torch.logsumexp(v, 0).exp(), torch.logsumexp(v, 1, keepdim=True).exp() + y",
        "x, y, v",
        "torch.randn(2, 3, 40, 16), torch.rand(40, 40) < 0.03,"
        " torch.randn(40, 40).where(torch.arange(40)[:, None] % 3 > 0, -torch.tensor(torch.inf))",
    ),
    "kept": (
        "torch.linalg.solve(x.t() @ x + torch.diag(y), y) * 2, (y.long() & 1) * 1.5",
        "x, y", "torch.randn(30, 9), torch.rand(9) + 1",
    ),
    "few long rows scanned": (
        "torch.cumsum(x, 0, dtype=torch.float64).to(x.dtype) + totals[0, 0], (x[:, None] * 2).flip(0).cumsum(0).flip(0),"
        " x.expand(3, -1).cumsum(1) * 2, (totals * totals[0]).abs().cumsum(0) - totals, totals.long().cumsum(0),"
        " (1 + totals[:, :9].abs() / 99).cumprod(0), totals[:, :3].cummax(0)[0] * 2, totals[:, :2].cummin(0)[1]",
        "x, totals", "torch.rand(66001), torch.randn(530, 40)",
    ),
    "the first of groups": (
        "x.where(x < 2, x / 0 - x / 0).topk(20)[0].isnan() * 1.0, (x * y).topk(20)", "x, y",
        "torch.randn(2, 5120), torch.rand(5120) + 0.5",
    ),
}  # fmt: skip


LAYERS = {
    "batch statistics": (
        "F.leaky_relu_(self.b(self.a(x)))", "x", X, "self.a, self.b = nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16)",
    ),
    "statistics of tiles": (
        "self.b(self.a(x)) * 2 + self.d(self.c(y)).relu().mean()", "x, y",
        "torch.randn(3, 8, 14, 150) + 1, torch.randn(500, 30) + 2",
        "self.a, self.b = nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16, momentum=0.3);"
        " self.c, self.d = nn.Linear(30, 24), nn.BatchNorm1d(24, track_running_stats=False)",
    ),
    "statistics of a few": ("self.a(x)", "x", "torch.randn(40, 12)", "self.a = nn.BatchNorm1d(12, momentum=0.3)"),
    "convolutions in a row": (
        "self.a(x).relu_() + self.b(self.a(x))", "x", X,
        "self.a = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(16, 8, 1),"
        " nn.MaxPool2d(3, 1, 1));"
        " self.b = nn.Sequential(nn.AvgPool2d(3, 1, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 8, 1))",
    ),
    "one value again": (
        "(lambda a: a * F.softplus(a).tanh())(self.a(x)), (lambda b: F.silu(b) + (b * 2).clamp(0, 1) * b)(self.b(y)),"
        " (lambda c: c * (c - c.mean(1, keepdim=True)))(self.c(y))", "x, y", f"{X}, torch.randn(40, 32)",
        "self.a, self.b, self.c = nn.Conv2d(8, 16, 3), nn.Linear(32, 48), nn.Linear(32, 48)",
    ),
    "counted": ("x * self.seen.add_(1)", "x", X, "self.register_buffer('seen', torch.ones(8, 1, 1))"),
}  # fmt: skip
"""Modules with parameters, and state that their forward changes."""
CASES |= LAYERS


def found_case(name, kind="cpu"):
    """A case under its name as an identifier."""
    forward, arguments, inputs, *init = CASES[name]
    source = model(forward, inputs, *init, arguments=arguments)
    found = case(source, name.replace(" ", "_"), kind, train=bool(init))
    if "laid out" in name:  # which is for tasks whose convolutions PyTorch rounds
        numerics = Numerics(flags={"cudnn.allow_tf32": True}, tf32=True)
        found.task = found.task.model_copy(update={"numerics": numerics})
    return found


CHANGED = ("taken apart", "rounded", "above one another", "that stay")
"""Cases whose schedule is no default on such shapes, by parts of their names."""


BUSY, TRIED_FROM, MANY = product.BUSY, packing.TRIED_FROM, partition.MANY
FOLDED = pack_rows.MANY
LONG, PAYS, TOGETHER = (moments.LONG_ROW, moments.LONG_APART), Rule.pays, moments.MOST_TOGETHER
OF_TILES = {"moments of tiles": 8, "statistics of tiles": 2, "laid out for tiles and rounded": 1}
"""Cases whose rows count as long, so that the tiles of their products leave moments: of so many."""


def sided_source(design):
    """With windows taken one side after the other, however small they are."""
    source = design.write(design.default).source
    assert source.count("@triton.jit") >= 2 * len(design.program.outputs) - 1
    return source


def lines_source(design):
    """With windows of whole lines, as they are large."""
    source = design.write(design.default).source
    assert source.count("the windows of ROWS lines") == len(design.program.outputs)
    return source


def stacked_source(design, least=5):
    """With four results above one another wherever windows overlap."""
    names = [option.name for option in design.space.options if option.name.endswith("stacked")]
    source = design.write(design.default.model_copy(update=dict.fromkeys(names, 4))).source
    assert source.count("times 4 results") == len(names) >= least
    return source


def long_source(design, name):
    """Where tiles of whole windows have no masks."""
    source = stacked_source(design, 3) if "above" in name else design.write(design.default).source
    assert len(re.findall(r"^    if \(?first", source, re.M)) == (3 if "above" in name else 4)
    return source


def tiles_source(design):
    """With what is left of each tile in place of the product."""
    source = design.write(design.default).source
    assert source.count("stripe = ") == 6
    return source


def set_for_moments(small):
    """Let rows of small shapes count as long, and their stretches as many."""
    moments.LONG_ROW, moments.LONG_APART = (64, 64) if small else LONG
    moments.MOST_TOGETHER = 16 if small else TOGETHER


def moments_source(design, name):
    """With moments of every norm from the tiles of its product."""
    made = [kernel.part for kernel in design.program.kernels if kernel.family == "product"]
    assert sum(len(part.roots) == 3 for part in made) == OF_TILES[name]
    assert "laid out" not in name or any(tensor.rounded for part in made for tensor in part.reads)
    return design.write(design.default).source


def groups_source(design):
    """With the groups that have the first places found before these."""
    source = design.write(design.default).source
    assert source.count("finds the first 20 places") == 4
    return source


def places_source(design):
    """With eight columns at once, each lane of which keeps the first place of its best one."""
    changed = {name: value for word, value in {"passes": "blocks", "block": 8, "rows": 16}.items()
               for name in type(design.default).model_fields if name.endswith(word)}  # fmt: skip
    source = design.write(design.default.model_copy(update=changed)).source
    assert source.count("row_place = ") == 6
    return source


def folded_source(design):
    """With four rows of float32 as one, and eight of float16; not where each meets another one, gives places, or moves on."""
    source = design.write(design.default).source
    assert (source.count("column * 60"), source.count("column * 136"), source.count("3840 + column * 15")) == (4, 1, 3)
    return source


def staying_source(design):
    """With every tile after another one, of which hardware copies slices; the tiles are no parts of the sides."""
    changed = {"grid": "persistent", "block_m": 32, "block_n": 32, "block_k": 16, "group": 4}
    names = type(design.default).model_fields
    update = {name: value for name in names for word, value in changed.items() if name.endswith(word)}
    source = design.write(design.default.model_copy(update=update)).source
    assert source.count("out_map.store(") == source.count("flatten=True") == 3
    return source


def packed_source(design, name):
    """With the factors of every product taken apart first, or rounded; the interpreter has float16 in place of bfloat16."""
    apart, precision = (
        "taken apart" in name,
        "tf32" if "rounded" in name else "bf16x3" if "windows" in name else "fp16x3",
    )
    precision = "fp16" if "scaled" in name else precision
    changed = {"packed": apart, "precision": precision, "block_k": 16}
    if "turned" in name:
        changed |= {"block_m": 32, "block_n": 64}
    names = type(design.default).model_fields
    update = {name: value for name in names for word, value in changed.items() if name.endswith(word)}
    source = design.write(design.default.model_copy(update=update)).source
    products = sum(kernel.family == "product" for kernel in design.program.kernels)
    packs = len(re.findall(r"_pack(?:_scaled|_tried)?\[", source))
    assert ("_pack_again[" in source) == ("tried" in name)
    assert not apart or packs >= products > 0, "products whose factors lie as they did are no test of this"
    assert "turned" not in name or source.count("tl.dot(right") >= products > 0
    return source.replace("bfloat16", "float16")


OF_SCHEDULES = {
    "folded": folded_source,
    "that stay": staying_source,
    "side after": sided_source,
    "lines of": lines_source,
    "tiles of": tiles_source,
    "in blocks": places_source,
}
"""Sources of cases by parts of their names."""


def source_of(design, name):
    """Of the case's schedule."""
    if "long lines" in name:
        return long_source(design, name)
    if name in OF_TILES:
        return moments_source(design, name)
    for word, source in OF_SCHEDULES.items():
        if word in name:
            return source(design)
    if not any(word in name for word in CHANGED):
        return design.write(design.default).source
    return stacked_source(design) if "above" in name else packed_source(design, name)


def main(folder):
    for name in sys.argv[2:] or CASES:
        found = found_case(name, "cuda")
        Rule.pays = (lambda *_: True) if "side after" in name or name in OF_TILES else PAYS
        product.BUSY = 2 if "of a product" in name or name in OF_TILES else BUSY
        partition.MANY = 1 if "of groups" in name else MANY
        pack_rows.MANY = 1 if "folded" in name else FOLDED
        set_for_moments(name in OF_TILES)
        packing.TRIED_FROM = 1 if "tried" in name else TRIED_FROM
        design = triton_design(found.task)
        path = folder / f"{found.task.name}.py"
        path.write_text(source_of(design, name))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        new = module.ModelNew()
        new.load_state_dict(found.module.state_dict())
        with torch.no_grad():
            fits = module._fits(*found.inputs, *held(new).values())
        errors = [
            [error(g, w), error(e, w), g.dtype == e.dtype and g.shape == e.shape]
            for g, w, e in zip(
                called(new, found.inputs, found.task.workload.state), found.reference(), found.eager(), strict=True
            )
        ]
        sys.stdout.write(json.dumps([name, fits, errors]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
