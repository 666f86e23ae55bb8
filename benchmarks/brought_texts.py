"""The texts of `brought_modules.py`: modules of our own making, in the forms in which people have theirs."""

HEAD = """import dataclasses
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
"""


def _task(forward: str, inputs: str, *, init: str = "pass", takes: str = "x", before: str = "", on: str = "") -> str:
    """A file with one module."""
    body = forward.strip("\n").replace("\n", "\n        ")
    return (
        f"{HEAD}{before}\n\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
        + init.replace("\n", "\n        ")
        + f"\n\n    {on}\n    def forward(self, {takes}):\n        {body}\n\n\ndef get_inputs():\n    return {inputs}\n"
    )


TINY = "hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, vocab_size=50"
CACHE = """
from transformers import {kind}Config, {kind}ForCausalLM
from transformers.cache_utils import DynamicCache

CONFIG = {kind}Config(num_key_value_heads=2, head_dim=4, {tiny})


def past():
    found = DynamicCache(config=CONFIG)
    for layer in range(2):
        found.update(torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4), layer)
    return found
"""
ROPE = """
def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin
"""
BLOCK = """
b, t, _ = x.shape
q, k, v = (p.view(b, t, 2, 8).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
q, k = (rotated(p, self.cos[:t], self.sin[:t]) for p in (q, k))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, 16)
return x + self.mlp(y)
"""
OUT = """
@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    mask: torch.Tensor | None = None
    pooling: str = "mean"


class Out(NamedTuple):
    pooled: torch.Tensor
    hidden: list
"""
JAGGED = "[torch.randn(40, 6), torch.tensor([0, 7, 8, 30, 40])]"
TOKENS = "torch.randint(0, 50, (2, 6))"

MODULES = {
    "Llama": _task("return self.lm(input_ids=ids, attention_mask=mask)", f"{{'ids': {TOKENS}, 'mask': torch.ones(2, 6, dtype=torch.long)}}",
                   takes="ids, mask=None", init="self.lm = LlamaForCausalLM(CONFIG).eval()", before=CACHE.format(kind="Llama", tiny=TINY)),
    "Llama, a step with its cache": _task("return self.lm(**call)", f"{{'input_ids': {TOKENS}[:, :1], 'past_key_values': past(), 'use_cache': True}}",
                   takes="**call", init="self.lm = LlamaForCausalLM(CONFIG).eval()", before=CACHE.format(kind="Llama", tiny=TINY)),
    "Qwen3, a step with its cache": _task("return self.lm(**call)", f"{{'input_ids': {TOKENS}[:, :1], 'past_key_values': past(), 'use_cache': True}}",
                   takes="**call", init="self.lm = Qwen3ForCausalLM(CONFIG).eval()", before=CACHE.format(kind="Qwen3", tiny=TINY)),
    "BERT": _task("return self.bert(**call)", f"{{'input_ids': {TOKENS}, 'output_hidden_states': True}}", takes="**call",
                  before="from transformers import BertConfig, BertModel\n",
                  init=f"self.bert = BertModel(BertConfig({TINY})).eval()"),
    "ViT": _task("x = self.patch(x).flatten(2).transpose(1, 2)\nx = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.at\n"
                 "return self.head(self.layers(x)[:, 0])", "[torch.randn(2, 3, 16, 16)]",
                 init="self.patch, self.head = nn.Conv2d(3, 16, 4, 4), nn.Linear(16, 5)\nself.cls = nn.Parameter(torch.randn(1, 1, 16))\n"
                 "self.at = nn.Parameter(torch.randn(1, 17, 16))\n"
                 "self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), 2).eval()"),
    "ResNet block in eval mode": _task("return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))", "[torch.randn(2, 8, 12, 12)]",
                 init="self.c1, self.c2 = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)\nself.b1, self.b2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)\nself.eval()"),
    "UNet block with a skip": _task("down = self.down(x)\nup = F.interpolate(self.mid(down), scale_factor=2)\nreturn {'up': self.out(torch.cat([x, up], 1)), 'skip': down}",
                 "[torch.randn(2, 4, 16, 16)]", init="self.down, self.mid, self.out = nn.Conv2d(4, 8, 3, 2, 1), nn.Conv2d(8, 8, 1), nn.Conv2d(12, 4, 1)"),
    "GPT block, RoPE tables, no_grad": _task(BLOCK, "[torch.randn(2, 12, 16)]", before=ROPE, on="@torch.no_grad()",
                 init="self.norm, self.qkv, self.mlp = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)\n"
                 "angle = torch.outer(torch.arange(64.0), 1 / 100 ** (torch.arange(8) / 8))\n"
                 "self.register_buffer('cos', angle.cos(), persistent=False)\nself.register_buffer('sin', angle.sin(), persistent=False)"),
    "LSTM with its state": _task("return self.cell(x, state)", "{'x': torch.randn(5, 2, 6), 'state': (torch.randn(1, 2, 4), torch.randn(1, 2, 4))}",
                 takes="x, state=None", init="self.cell = nn.LSTM(6, 4)"),
    "GRU over packed sequences": _task("packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)\n"
                 "return nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], total_length=len(x))[0]",
                 "[torch.randn(7, 4, 6), torch.tensor([7, 3, 5, 1])]", takes="x, lengths", init="self.gru = nn.GRU(6, 4)"),
    "graphs normalised by their sums": _task("sums = torch.zeros(graph.max() + 1, 6).index_add_(0, graph, x * x)\nreturn x / (sums[graph] + 1)",
                 "[torch.randn(40, 6), torch.randint(0, 5, (40,)).sort().values]", takes="x, graph"),
    "jagged softmax": _task("return torch.cat([x[a:b].softmax(0) for a, b in zip(at[:-1], at[1:])])", JAGGED, takes="x, at"),
    "experts by masks": _task("out = torch.zeros_like(x)\nchosen = self.gate(x).argmax(-1)\nfor i, expert in enumerate(self.experts):\n"
                 "    out[chosen == i] = expert(x[chosen == i])\nreturn out", "[torch.randn(32, 6)]",
                 init="self.gate, self.experts = nn.Linear(6, 3), nn.ModuleList(nn.Linear(6, 6) for _ in range(3))"),
    "top-k filter of logits": _task("return x.masked_fill(x < x.topk(5).values[:, -1:], float('-inf'))", "[torch.randn(8, 100)]"),
    "cross entropy, ignored labels": _task("return F.cross_entropy(x, labels, label_smoothing=0.1)",
                 "[torch.randn(64, 10), torch.randint(0, 10, (64,)).masked_fill(torch.arange(64) % 7 == 0, -100)]", takes="x, labels"),
    "a dataclass in, a named tuple out": _task("h = batch.tokens.tanh() if batch.mask is None else batch.tokens * batch.mask\n"
                 "return Out(h.mean(1) if batch.pooling == 'mean' else h.amax(1), [h, None])",
                 "[Batch(torch.randn(4, 6, 8), torch.rand(4, 6, 1))]", takes="batch", before=OUT),
    "converted to bfloat16": _task("return F.gelu(self.norm(x))", "[torch.randn(16, 64, dtype=torch.bfloat16)]",
                 init="self.norm = nn.LayerNorm(64)\nself.to(torch.bfloat16)"),
    "FFT filter": _task("return torch.fft.irfft(torch.fft.rfft(x) * self.response, n=x.shape[-1])", "[torch.randn(8, 64)]",
                 init="self.response = nn.Parameter(torch.randn(33, dtype=torch.complex64))"),
    "embedding bag": _task("return self.bag(at, starts)", "[torch.randint(0, 50, (40,)), torch.arange(0, 40, 5)]", takes="at, starts",
                 init="self.bag = nn.EmbeddingBag(50, 8)"),
    "int8 weights dequantised": _task("return F.linear(x, self.q.float() * self.scale[:, None])", "[torch.randn(8, 32)]",
                 init="self.register_buffer('q', torch.randint(-127, 128, (16, 32), dtype=torch.int8))\nself.register_buffer('scale', torch.rand(16) / 64)"),
    "writes through a view of an input": _task("y = x[:, :4]\ny.mul_(2)\nreturn x.sum(-1)", "[torch.randn(8, 16)]"),
    "an autocast region": _task("with torch.autocast('cpu', torch.bfloat16):\n    y = self.a(x)\nreturn self.b(y.float())", "[torch.randn(8, 32)]",
                 init="self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 8)"),
    "a table of numpy": _task("return x @ torch.as_tensor(tables['dct']) * scale", "{'x': torch.randn(8, 16), 'tables': {'dct': np.eye(16, dtype=np.float32)[::-1].copy()}, 'scale': 0.5}",
                 takes="x, *, tables, scale=1.0"),
    "attention that returns None": _task("return self.attention(x, y, y, need_weights=False)", "[torch.randn(2, 5, 16), torch.randn(2, 7, 16)]",
                 takes="x, y", init="self.attention = nn.MultiheadAttention(16, 2, batch_first=True)"),
    "heads of a detector": _task("return [{'boxes': h(x).sigmoid(), 'level': i} for i, h in enumerate(self.heads)]", "[torch.randn(4, 16)]",
                 init="self.heads = nn.ModuleList(nn.Linear(16, 4) for _ in range(2))"),
    "outputs of an encoder as an input": _task("return self.out(encoder_outputs[0]) + encoder_outputs.last_hidden_state.mean(-1, keepdim=True)",
                 "{'encoder_outputs': BaseModelOutput(last_hidden_state=torch.randn(2, 5, 8))}", takes="encoder_outputs",
                 before="from transformers.modeling_outputs import BaseModelOutput\n", init="self.out = nn.Linear(8, 3)"),
    "counts that a branch decides": _task("return x.relu() if (x > 0).float().mean() > 0.5 else x.tanh()", "[torch.randn(16, 16)]"),
    "a batch norm that trains": _task("return self.norm(x)", "[torch.randn(16, 8)]", init="self.norm = nn.BatchNorm1d(8)"),
    "GPT-2": _task("return self.lm(ids).logits", f"[{TOKENS}]", takes="ids", before="from transformers import GPT2Config, GPT2LMHeadModel\n",
                 init="self.lm = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=8, n_embd=16, n_layer=2, n_head=2)).eval()"),
    "ViT of transformers": _task("return self.vit(x)", "[torch.randn(2, 3, 8, 8)]", before="from transformers import ViTConfig, ViTModel\n",
                 init="self.vit = ViTModel(ViTConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=4)).eval()"),
    "ResNet of transformers": _task("return self.net(x).pooler_output", "[torch.randn(2, 3, 32, 32)]", before="from transformers import ResNetConfig, ResNetModel\n",
                 init="self.net = ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type='basic')).eval()"),
    "ConvNeXt of transformers": _task("return self.net(x).last_hidden_state", "[torch.randn(2, 3, 16, 16)]", before="from transformers import ConvNextConfig, ConvNextModel\n",
                 init="self.net = ConvNextModel(ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)).eval()"),
    "ViT of timm": _task("return self.net(x)", "[torch.randn(2, 3, 32, 32)]", before="import timm\n",
                 init="self.net = timm.create_model('vit_tiny_patch16_224', img_size=32, depth=2, num_classes=10).eval()"),
    "ResNet of timm": _task("return self.net(x)", "[torch.randn(2, 3, 32, 32)]", before="import timm\n",
                 init="self.net = timm.create_model('resnet10t', num_classes=10).eval()"),
    "ConvNeXt of timm": _task("return self.net(x)", "[torch.randn(2, 3, 32, 32)]", before="import timm\n",
                 init="self.net = timm.create_model('convnext_atto', depths=(1, 1, 1, 1), num_classes=10).eval()"),
    "tagger: two LSTM layers, both ways": _task("return self.tag(self.cell(self.words(ids))[0])", f"[{TOKENS}]", takes="ids",
                 init="self.words, self.tag = nn.Embedding(50, 8), nn.Linear(12, 5)\nself.cell = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)"),
    "decoder of GRU cells": _task("out = []\nfor at in range(x.shape[1]):\n    h = self.cell(x[:, at], h)\n    out.append(self.say(h))\nreturn torch.stack(out, 1), h",
                 "[torch.randn(4, 6, 8), torch.zeros(4, 12)]", takes="x, h", init="self.cell, self.say = nn.GRUCell(8, 12), nn.Linear(12, 3)"),
    "selective scan, step by step": _task("h, out = x.new_zeros(x.shape[0], x.shape[2], 4), []\nfor t in range(x.shape[1]):\n"
                 "    step = F.softplus(self.step(x[:, t]))\n    h = torch.exp(step[..., None] * -self.a.exp()) * h + step[..., None] * self.b(x[:, t])[:, None] * x[:, t, :, None]\n"
                 "    out.append((h * self.c(x[:, t])[:, None]).sum(-1))\nreturn torch.stack(out, 1)", "[torch.randn(2, 12, 8)]",
                 init="self.step, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4)\nself.a = nn.Parameter(torch.zeros(8, 4))"),
    "means of neighbours": _task("at, to = edges\nsums = torch.zeros_like(x).index_add_(0, to, self.lin(x)[at])\ndegree = x.new_zeros(len(x)).scatter_add_(0, to, torch.ones_like(to, dtype=x.dtype))\n"
                 "return F.elu(sums / degree.clamp(min=1)[:, None])", "[torch.randn(30, 8), torch.randint(0, 30, (2, 90))]", takes="x, edges", init="self.lin = nn.Linear(8, 8)"),
    "segments' maxima and softmax": _task("at = graph[:, None].expand_as(x)\nhigh = x.new_full((5, 6), float('-inf')).scatter_reduce_(0, at, x, 'amax')\n"
                 "e = (x - high[graph]).exp()\nreturn e / x.new_zeros(5, 6).scatter_reduce_(0, at, e, 'sum')[graph]",
                 "[torch.randn(40, 6), (torch.arange(40) % 5).sort().values]", takes="x, graph"),
    "histogram by index_put": _task("return torch.zeros(8).index_put_((bins,), weights, accumulate=True)", "[torch.randint(0, 8, (200,)), torch.rand(200)]", takes="bins, weights"),
    "rows quantised to float8": _task("scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-6) / 448\nq = (x / scale).to(torch.float8_e4m3fn)\nreturn F.linear(q.float() * scale, self.w)",
                 "[torch.randn(8, 32)]", init="self.w = nn.Parameter(torch.randn(16, 32) / 6)"),
    "shifted windows": _task("b, h, w, c = x.shape\ny = torch.roll(x, (-2, -2), (1, 2)).view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)\n"
                 "q, k, v = self.qkv(y).view(-1, 16, 3, 2, c // 2).permute(2, 0, 3, 1, 4)\nbias = self.table[self.at].permute(2, 0, 1)\n"
                 "y = (torch.einsum('...qd,...kd->...qk', q, k) * (c // 2) ** -0.5 + bias).softmax(-1) @ v\nreturn self.out(y.transpose(1, 2).reshape(-1, 16, c))",
                 "[torch.randn(2, 8, 8, 16)]", init="self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)\nself.table = nn.Parameter(torch.randn(49, 2))\n"
                 "i = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing='ij')).flatten(1)\nd = i[:, :, None] - i[:, None] + 3\nself.register_buffer('at', d[0] * 7 + d[1])"),
    "traces of covariances": _task("c = torch.einsum('bti,btj->bij', x, x) / x.shape[1]\nreturn torch.einsum('bii->b', c), torch.einsum('...ii->...i', c)", "[torch.randn(4, 20, 8)]"),
    "a key written into its cache": _task("keys[:, :, at] = self.k(x).view(2, 2, 8)\nreturn torch.einsum('bhd,bhtd->bht', x.view(2, 2, 8), keys[:, :, : at + 1]).softmax(-1)",
                 "{'x': torch.randn(2, 16), 'keys': torch.randn(2, 2, 12, 8), 'at': 7}", takes="x, keys, at", init="self.k = nn.Linear(16, 16)"),
    "inverted residual with a squeeze": _task("y = F.hardswish(self.b1(self.wide(x)))\ny = F.hardswish(self.b2(self.deep(y)))\ny = y * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(y, 1)))))\n"
                 "return x + self.narrow(y)", "[torch.randn(2, 8, 10, 10)]", init="self.wide, self.deep, self.narrow = nn.Conv2d(8, 16, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(16, 8, 1)\n"
                 "self.b1, self.b2 = nn.BatchNorm2d(16), nn.BatchNorm2d(16)\nself.down, self.up = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)\nself.eval()"),
}  # fmt: skip
