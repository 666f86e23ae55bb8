# only: cpu
# task: chain
# truth: right
# speed: faster
# claimed: 4.00
# C++ through load_inline.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor fused(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  const int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) {
    const float v = in[i] * 1.5f + 0.5f;
    out[i] = (v > 0.0f ? v : 0.0f) * in[i] + 1.0f;
  }
  return y;
}
"""
built = load_inline("fused_chain", SOURCE, functions=["fused"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        return built.fused(x)
