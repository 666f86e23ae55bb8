# task: gpu_chain
# truth: right
# speed: faster
# claimed: 4.00
# only: cuda
# CUDA C++ through load_inline.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void fused(const float* x, float* y, long n) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) {
    const float v = x[i] * 1.5f + 0.5f;
    y[i] = fmaxf(v, 0.0f) * x[i] + 1.0f;
  }
}
torch::Tensor launch(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const long n = x.numel();
  fused<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
built = load_inline("fused_gpu", "torch::Tensor launch(torch::Tensor x);", SOURCE, functions=["launch"])


class ModelNew(nn.Module):
    def forward(self, x):
        return built.launch(x)
