"""Small tasks for cheats on the CPU, and the policy that they are judged under."""

import os
import random
import secrets

from file_tasks import OUTSIDE

from kernelwright.records.policy import Policy
from text_tasks import TextTask

QUICK = Policy(search_blocks=4, final_blocks=4, baselines=("eager",), run_limit_s=20)
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
"""Of all processes of this run: one of them may hold the task's text for another, and other runs hold another text."""
SECRET = random.Random(RUN).uniform(2, 3)
"""A constant of the task `secret`; a kernel is right only if it knows it."""


SMALL = "torch.randn(64, 64)"
TASKS = {
    "affine": TextTask("x", "x * 3 + 1", SMALL),
    "cached": TextTask("x", "x * 3 + 1", SMALL, head="# of a cache of its own"),
    "relu": TextTask("x", "torch.relu(x)", SMALL),
    "relu_positive": TextTask("x", "torch.relu(x)", "torch.rand(64, 64)"),
    "sign": TextTask("x", "torch.sign(x)", SMALL),
    "absolute": TextTask("x", "torch.abs(x)", SMALL),
    "power": TextTask("x", "(x * x).mean()", "torch.randn(256, 256)"),
    "rooted": TextTask("x", "torch.sqrt(x).square()", "torch.rand(64, 64)"),
    "rows": TextTask("x", "(x * x).mean(1)", SMALL),
    "energy": TextTask("x", "(x * x).sum()", "torch.randn(4096, 4096)"),
    "weighted": TextTask("x", "torch.abs(x * self.weight + self.bias)", SMALL,
                         init="self.weight, self.bias = nn.Parameter(torch.ones(64)), nn.Parameter(torch.zeros(64))"),
    "odd": TextTask("x", "x * 3 + 1", "torch.randn(33)"),
    "softmax": TextTask("x", "torch.softmax(x, -1)", SMALL),
    "halves": TextTask("x", "torch.roll(x, 1024, 0)", "torch.randn(2048, 1024)"),
    "padded": TextTask("x", "nn.functional.pad(x.view(-1), (0, 61440))", SMALL),
    "shares": TextTask("x", "torch.softmax(x, -1)", "torch.randn(4, 4096)"),
    "secret": TextTask("x", f"x * FACTOR_{RUN[:8]} + 1", SMALL,
                       head=f"FACTOR_{RUN[:8]} = {SECRET!r}  # the secret number of this task"),
    "top_scores": TextTask("x", "torch.topk(x, 64, dim=-1)", "torch.randn(32, 2048)"),
    "top_lanes": TextTask("x", "torch.topk(x, 64, dim=-1)", "torch.randn(24, 2048)"),
    "routed": TextTask("scores, x", "x * (scores.argmax(1, keepdim=True) + 1)", "torch.randn(1024, 8), torch.randn(1024, 16)"),
    "layer_norm": TextTask("x", "nn.functional.layer_norm(x, (256,))", "torch.randn(64, 256)"),
    "row_variance": TextTask("x", "x.var(1)", "torch.randn(64, 256)"),
    "causal": TextTask("q, k", "mask = torch.ones(64, 64, dtype=torch.bool).triu(1)\n"
                       "torch.softmax((q @ k.T).masked_fill(mask, -torch.inf), -1)", f"{SMALL}, {SMALL}"),
    "scaled_rows": TextTask("x", "x / (x.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 448)", SMALL),
    "unit_rows": TextTask("x", "nn.functional.normalize(x, dim=1)", SMALL),
    "counted": TextTask("x", "nn.functional.one_hot(x, 64).sum(0).float()", "torch.randint(0, 64, (4096,))"),
    "turned_round": TextTask("x, index", "x[index] * 3 + 1", f"{SMALL}, torch.arange(63, -1, -1)"),
    "every_third": TextTask("x, index", "x[index] * 3 + 1", "torch.randn(192, 64), torch.arange(0, 192, 3)"),
    "clamped_far": TextTask("x", "torch.clamp(x * 3 + 1, -25, 25)", SMALL),
    "faint_term": TextTask("x", "x * 3 + 1e-6 * torch.cos(x)", SMALL),
    "half_zero": TextTask("x", "x * 3 + 1", f"{SMALL} * (torch.arange(64) < 32)"),
    "half_zero_rows": TextTask("x", "(x * 3 + 1).sum(1)", f"{SMALL} * (torch.arange(64) < 32)"),
    "sorted_mean": TextTask("x", "x.mean()", "torch.rand(1 << 20).sort().values"),
    "sorted_rows": TextTask("x", "x.mean(1)", "torch.rand(64, 1 << 14).sort().values"),
    "any_above": TextTask("x", "(x > 12).any()", "torch.randn(65536)"),
    "rows_above": TextTask("x", "(x > 12).any(1)", "torch.randn(1024, 64)"),
    "tanh_half": TextTask("x", "torch.tanh(x)", f"{SMALL}.bfloat16()"),
    "product_half": TextTask("a, b", "a @ b", "torch.randn(64, 128).bfloat16(), torch.randn(128, 64).bfloat16()"),
    "best_tanh": TextTask("x", "torch.tanh(x).argmax(1)", "torch.randn(64, 4096).bfloat16()"),
    "best_sigmoid": TextTask("x", "torch.sigmoid(4 * x).argmax(1)", "torch.randn(64, 4096).bfloat16()"),
    "four_truths": TextTask("x", "x.abs().mean(1) > 0.8", "torch.randn(4, 4096)"),
    "three_truths": TextTask("x", "x.sum(1) > 0", "torch.randn(3, 4096)"),
    "above_spread": TextTask("x", "x.float() > x.float().square().mean().sqrt()", "torch.randn(65536).bfloat16()"),
    "above_mean": TextTask("x", "x.float() > x.float().exp().mean()", "torch.randn(65536).bfloat16()"),
    "pooled": TextTask("x", "nn.functional.max_pool1d(x * self.scale[:, None], 4)", "torch.randn(8, 16, 64)",
                       init="self.scale = nn.Parameter(torch.ones(16))"),
    "scaled_best": TextTask("x", "(x * self.scale[:, None]).amax(1)", SMALL, init="self.scale = nn.Parameter(torch.ones(64))"),
    "unit_columns": TextTask("x", "nn.functional.normalize(x, dim=0, eps=1e-8)", SMALL),
    "unit_planes": TextTask("x", "x / x.norm(dim=(2, 3), keepdim=True).clamp(min=1e-8)", "torch.randn(4, 8, 8, 8)"),
    "sum_of_numbers": TextTask("x", "torch.nansum(x, 1)", SMALL),
    "finite_rows": TextTask("x", "torch.where(torch.isfinite(x), x, 0).sum(1)", SMALL),
    "first_mean": TextTask("x", "self.count.add_(1)\nself.kept.add_((x - self.kept) / self.count)\nself.kept * 2", SMALL,
                           init="self.register_buffer('count', torch.zeros((), dtype=torch.int64))\n"
                           "self.register_buffer('kept', torch.zeros(64, 64))"),
    "first_step": TextTask("x", "self.count.add_(1)\nself.kept.mul_(0.9).add_(x, alpha=0.1)\n"
                           "self.kept / (1 - 0.9 ** self.count)", SMALL,
                           init="self.register_buffer('count', torch.zeros((), dtype=torch.int64))\n"
                           "self.register_buffer('kept', torch.zeros(64, 64))"),
    "large_mean": TextTask("x", "x.mean()", "torch.rand(1000003) * 1e6"),
    "large_rows": TextTask("x", "x.sum(1)", "torch.rand(2, 1 << 20) * 1e5"),
    "softmax_loss": TextTask("x, target", "nn.functional.binary_cross_entropy(torch.softmax(x, 1), target)",
                             f"{SMALL}, torch.rand(64, 64)"),
    "best_loss": TextTask("x, target", "nn.functional.binary_cross_entropy(torch.softmax(x, 1).amax(1), target)",
                          f"{SMALL}, torch.rand(64)"),
    "long_scan": TextTask("x", "torch.cumsum(x, 0)", "torch.rand(1 << 18)"),
    "scan_down": TextTask("x", "torch.cumsum(x, 0)", "torch.rand(1 << 17, 2)"),
    "counted_rows": TextTask("x, gain, n", "nn.functional.softsign(x) * (torch.exp(8 * gain) * torch.cumsum(n, 0))[:, None]",
                             "torch.randn(1024, 64), torch.randn(1024), torch.randint(1, 4, (1024,))"),
    "picked_rows": TextTask("x, gain, n", "(nn.functional.softsign(x) * torch.exp(8 * gain)[:, None])"
                            "[torch.cumsum(n, 0) % 1024]",
                            "torch.randn(1024, 64), torch.randn(1024), torch.randint(1, 4, (1024,))"),
    "eight_rows": TextTask("x, gain", "nn.functional.softsign(x).abs().sum(1) * torch.exp(15 * gain)",
                           "torch.randn(8, 4096), torch.rand(8) * 2 - 1"),
    "six_rows": TextTask("x, gain", "nn.functional.softsign(x).abs().sum(1) * torch.exp(15 * gain)",
                         "torch.randn(6, 4096), torch.rand(6) * 2 - 1"),
    "bytes_product": TextTask("a, b", "(a.int() @ b.int()).float()",
                              "*(torch.randint(-8, 9, s).to(torch.int8) for s in ((64, 256), (256, 64)))"),
    "bytes_added": TextTask("x", "x.long().sum(1)", "torch.randint(0, 16, (64, 2048)).to(torch.uint8)"),
    "recurrence": OUTSIDE["outsider/recurrence"],
}  # fmt: skip
