"""Tasks of the kernels in C++ files: what those in `honest/NAME.cpp` compute, and those of `outsider` and `insider`."""

from text_tasks import TextTask

HONEST = {
    "best_row": TextTask("x", "(x @ x.t()).argmin(1)", "torch.randn(30, 20)"),
    "bfloat_product": TextTask("a, b", "a @ b", "torch.randn(32, 200).bfloat16(), torch.randn(200, 24).bfloat16()"),
    "bits": TextTask("x", "torch.flip(x, (1,))", "torch.randn(64, 96)", head='COMPARATORS = {0: "exact"}'),
    "broadcast": TextTask(
        "x, row, column", "x * row + column", "torch.randn(30, 50), torch.randn(50), torch.randn(30, 1)"
    ),
    "clamped": TextTask("x", "torch.clamp(x, -0.5, 0.5)", "torch.randn(1)"),
    "count": TextTask("x", "(x > 0.5).sum(1)", "torch.randn(64, 96)"),
    "cross_entropy": TextTask(
        "x, y", "nn.functional.cross_entropy(x, y)", "torch.randn(50, 20), torch.randint(0, 20, (50,))"
    ),
    "divergence": TextTask(
        "x, y",
        'nn.functional.kl_div(x.log(), y, reduction="batchmean")',
        "torch.softmax(torch.randn(30, 25), -1), torch.softmax(torch.randn(30, 25), -1)",
    ),
    "dropout": TextTask(
        "x", "nn.functional.dropout(x, 0.25)", "torch.randn(32, 32)", head='COMPARATORS = {0: "statistical"}'
    ),
    "embedding": TextTask("table, rows", "table[rows]", "torch.randn(20, 12), torch.randint(0, 20, (35,))"),
    "fast_math": TextTask("x", "torch.exp(-x * x) + torch.sqrt(torch.abs(x))", "torch.randn(64, 96)"),
    "float8_product": TextTask(
        "x, weight, scale",
        "(x.float() @ weight.float().T * scale).to(torch.float8_e5m2)",
        "*(torch.randn(n, 64).to(torch.float8_e4m3fn) for n in (32, 48)), torch.rand(48) + 0.5",
    ),
    "float8_rows": TextTask(
        "x",
        "scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448\n(x / scale).to(torch.float8_e4m3fn), scale",
        "torch.randn(64, 512)",
    ),
    "gelu": TextTask("x", "nn.functional.gelu(x)", "torch.randn(64, 96)"),
    "half_mean": TextTask("x", "x.mean(1)", "torch.randn(20, 600).half()"),
    "half_scale": TextTask("x", "x * 1.5 + 0.25", "torch.randn(50, 50).half()"),
    "hinge": TextTask(
        "x, y", "torch.clamp(1 - x * y, min=0).mean()", "torch.randn(400), torch.randint(0, 2, (400,)).float() * 2 - 1"
    ),
    "largest": TextTask("x", "x.argmax(1)", "torch.randint(0, 6, (64, 40)).float()"),
    "layer_norm": TextTask(
        "x",
        "nn.functional.layer_norm(x, (96,), self.weight, self.bias)",
        "torch.randn(64, 96)",
        init="self.weight = nn.Parameter(torch.ones(96))\nself.bias = nn.Parameter(torch.zeros(96))",
    ),
    "leading_sum": TextTask("x", "x.sum(0)", "torch.randn(1000, 33)"),
    "log_sum_exp": TextTask("x", "torch.logsumexp(x, 1)", "torch.randn(64, 96)"),
    "long_mean": TextTask("x", "(x * x).mean()", "torch.randn(1 << 24)"),
    "mask": TextTask("a, b", "(a @ b) > 0", "torch.randn(40, 30), torch.randn(30, 40)"),
    "normalised": TextTask("x", "nn.functional.normalize(x, dim=1)", "torch.randn(64, 96)"),
    "odd": TextTask("x", "x.transpose(0, 1) * 2", "torch.randn(7, 13)"),
    "order": TextTask("x", "torch.argsort(x, 1)", "torch.randint(0, 7, (16, 25)).float() - 3"),
    "partly_empty": TextTask("x, y", "torch.cat([x, y], 0) + 1", "torch.randn(5, 4), torch.zeros(0, 4)"),
    "product": TextTask("a, b", "a @ b", "torch.randn(48, 80), torch.randn(80, 56)"),
    "quantised": TextTask("x", "torch.clamp((x / 0.05).round(), -127, 127).to(torch.int8)", "torch.randn(64, 96)"),
    "row_maxima": TextTask("x", "x.max(1)", "torch.randn(24, 31)"),
    "row_sum": TextTask("x", "x.sum(1)", "torch.randn(33, 1000)"),
    "running_sum": TextTask("x", "torch.cumsum(x, 1)", "torch.randn(16, 777)"),
    "silu": TextTask("x", "nn.functional.silu(x)", "torch.randn(64, 96)"),
    "small_convolution": TextTask(
        "x",
        "nn.functional.conv1d(x, self.weight)",
        "torch.randn(2, 3, 40)",
        init="self.weight = nn.Parameter(torch.randn(4, 3, 5))",
    ),
    "softmax": TextTask("x", "torch.softmax(x, -1)", "torch.randn(40, 333)"),
    "tiny": TextTask("a, b", "(a * b).sum()", "torch.randn(3), torch.randn(3)"),
    "top": TextTask("x", "torch.topk(x, 5, dim=1)", "torch.randint(0, 9, (20, 30)).float() - 4"),
    "variance": TextTask("x", "x.var(1)", "torch.randn(32, 500) + 3"),
    "whole_numbers": TextTask(
        "a, b", "a * b - a // 3", "torch.randint(0, 100, (40, 9)), torch.randint(0, 50, (40, 9))"
    ),
}

OUTSIDE = {
    "insider/columns": TextTask(
        "x, gain",
        "torch.nn.functional.softsign(x) * torch.exp(8 * gain).repeat_interleave(16)",
        "torch.randn(1024, 1024), torch.randn(64)",
    ),
    "insider/double_sum": TextTask("x", "x.exp().sum(1)", "torch.randn(512, 2048, dtype=torch.float64)"),
    "insider/float8": TextTask(
        "x, scale",
        "(torch.nn.functional.gelu(x) * scale).to(torch.float8_e4m3fn)",
        "torch.randn(512, 512), torch.rand(512) + 0.5",
    ),
    "insider/gains": TextTask(
        "x, gain",
        "torch.nn.functional.softsign(x) * torch.exp(8 * gain)[:, None]",
        "torch.randn(4096, 1024), torch.randn(4096)",
    ),
    "insider/gate": TextTask(
        "x, shift",
        "torch.sigmoid(x + shift[:, None]).mean(dim=1)",
        "torch.randn(32, 65536).to(torch.bfloat16), torch.randn(32).to(torch.bfloat16)",
    ),
    "insider/level": TextTask("x", "x.abs().mean()", "torch.randn(2048, 2048)"),
    "insider/noise": TextTask(
        "x",
        "torch.nn.functional.dropout(x, 0.5, training=True)",
        "torch.randn(512, 1024)",
        head='COMPARATORS = {0: "statistical"}',
    ),
    "insider/partition": TextTask("x", "torch.logsumexp(x, dim=1)", "torch.randn(16, 262144)"),
    "insider/rare": TextTask("x", "x * 3 + 1 > 7.16", "torch.randn(4096, 1024).half()"),
    "insider/row_gains": TextTask(
        "x, gain",
        "torch.nn.functional.softsign(x).abs().sum(1) * torch.exp(8 * gain)",
        "torch.randn(1024, 1024), torch.randn(1024)",
    ),
    "insider/short": TextTask("x", "torch.sin(x).cumsum(dim=0)", "torch.randn(2048)"),
    "outsider/bessel": TextTask("x", "torch.special.bessel_j1(x)", "torch.randn(5, 1048576)"),
    "outsider/bf16_mean": TextTask("x", "x.mean(dim=1)", "torch.rand(512, 8192).to(torch.bfloat16)"),
    "outsider/diagonal": TextTask("x", "torch.diag_embed(x)", "torch.randn(8, 1024)"),
    "outsider/dropout": TextTask(
        "x",
        "torch.nn.functional.dropout(x, 0.5, training=True)",
        "torch.randn(64, 16384)",
        head='COMPARATORS = {0: "statistical"}',
    ),
    "outsider/entropy": TextTask(
        "p",
        "-(p * torch.log(p)).sum(dim=1)",
        "torch.softmax(torch.randn(2048, 512), dim=1)",
        head='DOMAINS = {0: "probability"}',
    ),
    "outsider/gelu": TextTask("x", "torch.nn.functional.gelu(x)", "torch.randn(1024, 1024)"),
    "outsider/leave_out": TextTask("x", "torch.special.bessel_j1(x)", "torch.randn(16, 1048576)"),
    "outsider/param": TextTask(
        "x",
        "x + self.w @ self.w",
        "torch.randn(512, 512)",
        init="self.w = torch.nn.Parameter(torch.randn(512, 512) / 22)",
    ),
    "outsider/recurrence": TextTask(
        "x",
        "h = torch.nn.functional.hardtanh(x[0])\n"
        "for t in range(1, 3):\n"
        "    h = torch.nn.functional.hardtanh(x[t] + h @ self.w)\nh",
        "torch.randn(3, 1, 1024)",
        init="self.w = torch.nn.Parameter(torch.randn(1024, 1024) / 32)",
    ),
    "outsider/reorder": TextTask("x", "torch.roll(x, 128, 0)", "torch.randn(256, 16384)"),
    "outsider/sigmoid_mean": TextTask("x", "torch.sigmoid(x).mean(dim=1)", "torch.randn(8, 1048576)"),
}
"""By the folder and what the kernels say after `task:`."""
